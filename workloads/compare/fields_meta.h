/*
 * Fields of core/v1 types: metadata, references, resource claims.
 * One macro a type: its fields under their JSON names, in the order of the API's source. types.h
 * turns them into a C struct, types.c into a descriptor table; nothing else belongs here.
 */
#ifndef POOLBENCH_COMPARE_FIELDS_META_H
#define POOLBENCH_COMPARE_FIELDS_META_H

#define FIELDS_type_meta(F, T) \
  STRING(F, T, apiVersion)     \
  STRING(F, T, kind)

#define FIELDS_owner_reference(F, T) \
  STRING(F, T, apiVersion)           \
  STRING(F, T, kind)                 \
  STRING(F, T, name)                 \
  STRING(F, T, uid)                  \
  BOOLEAN(F, T, controller)          \
  BOOLEAN(F, T, blockOwnerDeletion)

#define FIELDS_managed_fields_entry(F, T) \
  STRING(F, T, manager)                   \
  STRING(F, T, operation)                 \
  STRING(F, T, apiVersion)                \
  TIME_OPTIONAL(F, T, time)               \
  STRING(F, T, fieldsType)                \
  RAW(F, T, fieldsV1)                     \
  STRING(F, T, subresource)

#define FIELDS_object_meta(F, T)                        \
  STRING(F, T, name)                                    \
  STRING(F, T, generateName)                            \
  STRING(F, T, namespace)                               \
  STRING(F, T, selfLink)                                \
  STRING(F, T, uid)                                     \
  STRING(F, T, resourceVersion)                         \
  INTEGER(F, T, generation)                             \
  TIME(F, T, creationTimestamp)                         \
  TIME_OPTIONAL(F, T, deletionTimestamp)                \
  INTEGER(F, T, deletionGracePeriodSeconds)             \
  MAP(F, T, labels, string, GRANULAR)                   \
  MAP(F, T, annotations, string, GRANULAR)              \
  LIST(F, T, ownerReferences, owner_reference, BY(uid)) \
  LIST(F, T, finalizers, string, SET)                   \
  LIST(F, T, managedFields, managed_fields_entry, ATOMIC)

#define FIELDS_local_reference(F, T) STRING(F, T, name)

#define FIELDS_object_reference(F, T) \
  STRING(F, T, kind)                  \
  STRING(F, T, namespace)             \
  STRING(F, T, name)                  \
  STRING(F, T, uid)                   \
  STRING(F, T, apiVersion)            \
  STRING(F, T, resourceVersion)       \
  STRING(F, T, fieldPath)

#define FIELDS_label_requirement(F, T) \
  STRING(F, T, key)                    \
  STRING(F, T, operator)               \
  LIST(F, T, values, string, ATOMIC)

#define FIELDS_label_selector(F, T)        \
  MAP(F, T, matchLabels, string, GRANULAR) \
  LIST(F, T, matchExpressions, label_requirement, ATOMIC)

#define FIELDS_resource_claim(F, T) \
  STRING(F, T, name)                \
  STRING(F, T, request)

#define FIELDS_resource_requirements(F, T) \
  MAP(F, T, limits, quantity, GRANULAR)    \
  MAP(F, T, requests, quantity, GRANULAR)  \
  LIST(F, T, claims, resource_claim, BY(name))

#define FIELDS_typed_reference(F, T) \
  STRING(F, T, apiGroup)             \
  STRING(F, T, kind)                 \
  STRING(F, T, name)                 \
  STRING(F, T, namespace)

#define FIELDS_claim_spec(F, T)                  \
  LIST(F, T, accessModes, string, ATOMIC)        \
  OBJECT(F, T, selector, label_selector)         \
  OBJECT(F, T, resources, resource_requirements) \
  STRING(F, T, volumeName)                       \
  STRING(F, T, storageClassName)                 \
  STRING(F, T, volumeMode)                       \
  OBJECT(F, T, dataSource, typed_reference)      \
  OBJECT(F, T, dataSourceRef, typed_reference)   \
  STRING(F, T, volumeAttributesClassName)
#endif
