/*
 * Fields of core/v1 types: Endpoints.
 * One macro a type: its fields under their JSON names, in the order of the API's source. types.h
 * turns them into a C struct, types.c into a descriptor table; nothing else belongs here.
 */
#ifndef POOLBENCH_COMPARE_FIELDS_ENDPOINTS_H
#define POOLBENCH_COMPARE_FIELDS_ENDPOINTS_H

#define FIELDS_endpoint_address(F, T) \
  STRING(F, T, ip)                    \
  STRING(F, T, hostname)              \
  STRING(F, T, nodeName)              \
  OBJECT(F, T, targetRef, object_reference)

#define FIELDS_endpoint_port(F, T) \
  STRING(F, T, name)               \
  INTEGER(F, T, port)              \
  STRING(F, T, protocol)           \
  STRING(F, T, appProtocol)

#define FIELDS_endpoint_subset(F, T)                      \
  LIST(F, T, addresses, endpoint_address, ATOMIC)         \
  LIST(F, T, notReadyAddresses, endpoint_address, ATOMIC) \
  LIST(F, T, ports, endpoint_port, ATOMIC)

#define FIELDS_endpoints(F, T)        \
  INLINE(F, T, meta, type_meta)       \
  OBJECT(F, T, metadata, object_meta) \
  LIST(F, T, subsets, endpoint_subset, ATOMIC)
#endif
