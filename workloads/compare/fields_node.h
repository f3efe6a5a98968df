/*
 * Fields of core/v1 types: NodeSpec, NodeStatus, Node.
 * One macro a type: its fields under their JSON names, in the order of the API's source. types.h
 * turns them into a C struct, types.c into a descriptor table; nothing else belongs here.
 */
#ifndef POOLBENCH_COMPARE_FIELDS_NODE_H
#define POOLBENCH_COMPARE_FIELDS_NODE_H

#define FIELDS_taint(F, T) \
  STRING(F, T, key)        \
  STRING(F, T, value)      \
  STRING(F, T, effect)     \
  TIME_OPTIONAL(F, T, timeAdded)

#define FIELDS_config_map_node_source(F, T) \
  STRING(F, T, namespace)                   \
  STRING(F, T, name)                        \
  STRING(F, T, uid)                         \
  STRING(F, T, resourceVersion)             \
  STRING(F, T, kubeletConfigKey)

#define FIELDS_node_config_source(F, T) OBJECT(F, T, configMap, config_map_node_source)

#define FIELDS_node_spec(F, T)                   \
  STRING(F, T, podCIDR)                          \
  LIST(F, T, podCIDRs, string, SET)              \
  STRING(F, T, providerID)                       \
  BOOLEAN(F, T, unschedulable)                   \
  LIST(F, T, taints, taint, ATOMIC)              \
  OBJECT(F, T, configSource, node_config_source) \
  STRING(F, T, externalID)

#define FIELDS_node_condition(F, T) \
  STRING(F, T, type)                \
  STRING(F, T, status)              \
  TIME(F, T, lastHeartbeatTime)     \
  TIME(F, T, lastTransitionTime)    \
  STRING(F, T, reason)              \
  STRING(F, T, message)

#define FIELDS_node_address(F, T) \
  STRING(F, T, type)              \
  STRING(F, T, address)

#define FIELDS_daemon_endpoint(F, T) INTEGER(F, T, Port)

#define FIELDS_daemon_endpoints(F, T) OBJECT(F, T, kubeletEndpoint, daemon_endpoint)

#define FIELDS_node_swap(F, T) INTEGER(F, T, capacity)

#define FIELDS_node_info(F, T)          \
  STRING(F, T, machineID)               \
  STRING(F, T, systemUUID)              \
  STRING(F, T, bootID)                  \
  STRING(F, T, kernelVersion)           \
  STRING(F, T, osImage)                 \
  STRING(F, T, containerRuntimeVersion) \
  STRING(F, T, kubeletVersion)          \
  STRING(F, T, kubeProxyVersion)        \
  STRING(F, T, operatingSystem)         \
  STRING(F, T, architecture)            \
  OBJECT(F, T, swap, node_swap)

#define FIELDS_container_image(F, T) \
  LIST(F, T, names, string, ATOMIC)  \
  INTEGER(F, T, sizeBytes)

#define FIELDS_attached_volume(F, T) \
  STRING(F, T, name)                 \
  STRING(F, T, devicePath)

#define FIELDS_node_config_status(F, T)           \
  OBJECT(F, T, assigned, node_config_source)      \
  OBJECT(F, T, active, node_config_source)        \
  OBJECT(F, T, lastKnownGood, node_config_source) \
  STRING(F, T, error)

#define FIELDS_handler_features(F, T)    \
  BOOLEAN(F, T, recursiveReadOnlyMounts) \
  BOOLEAN(F, T, userNamespaces)

#define FIELDS_runtime_handler(F, T) \
  STRING(F, T, name)                 \
  OBJECT(F, T, features, handler_features)

#define FIELDS_node_features(F, T) BOOLEAN(F, T, supplementalGroupsPolicy)

#define FIELDS_node_status(F, T)                       \
  MAP(F, T, capacity, quantity, GRANULAR)              \
  MAP(F, T, allocatable, quantity, GRANULAR)           \
  STRING(F, T, phase)                                  \
  LIST(F, T, conditions, node_condition, BY(type))     \
  LIST(F, T, addresses, node_address, BY(type))        \
  OBJECT(F, T, daemonEndpoints, daemon_endpoints)      \
  OBJECT(F, T, nodeInfo, node_info)                    \
  LIST(F, T, images, container_image, ATOMIC)          \
  LIST(F, T, volumesInUse, string, ATOMIC)             \
  LIST(F, T, volumesAttached, attached_volume, ATOMIC) \
  OBJECT(F, T, config, node_config_status)             \
  LIST(F, T, runtimeHandlers, runtime_handler, ATOMIC) \
  OBJECT(F, T, features, node_features)

#define FIELDS_node_object(F, T)      \
  INLINE(F, T, meta, type_meta)       \
  OBJECT(F, T, metadata, object_meta) \
  OBJECT(F, T, spec, node_spec)       \
  OBJECT(F, T, status, node_status)
#endif
