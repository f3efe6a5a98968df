/*
 * Typed objects: core/v1 as C structs, and the tables that describe them.
 *
 * The fields_*.h macros are the single source. Every field of a JSON object becomes a member of
 * the same name; the walkers never name a member, they read objects through the descriptors
 * (name, offset, shape), as reflection would. Lists whose items are keyed say so here, and the
 * schemas are derived from that (catalog.c). Objects are read-only once loaded.
 */
#ifndef POOLBENCH_COMPARE_TYPES_H
#define POOLBENCH_COMPARE_TYPES_H

#include "workloads/compare/fields_endpoints.h"
#include "workloads/compare/fields_meta.h"
#include "workloads/compare/fields_node.h"
#include "workloads/compare/fields_pod.h"
#include "workloads/compare/fields_volume.h"
#include "workloads/compare/str.h"
#include "workloads/compare/tree.h"

#include <stddef.h>

/* Every object type. A type that is inlined into another one stands before it. */
// clang-format off
#define OBJECT_TYPES(D)                                                                            \
  D(type_meta) D(owner_reference) D(managed_fields_entry) D(object_meta) D(local_reference)        \
  D(object_reference) D(label_requirement) D(label_selector) D(resource_claim)                     \
  D(resource_requirements) D(typed_reference) D(claim_spec) D(key_to_path)                         \
  D(host_path_source) D(empty_dir_source) D(disk_source) D(git_repo_source)                        \
  D(secret_source) D(config_map_source) D(nfs_source) D(iscsi_source) D(glusterfs_source)          \
  D(claim_source) D(rbd_source) D(flex_source) D(cinder_source) D(cephfs_source)                   \
  D(flocker_source) D(field_selector) D(resource_selector) D(downward_item)                        \
  D(downward_source) D(fc_source) D(azure_file_source) D(vsphere_source) D(quobyte_source)         \
  D(azure_disk_source) D(photon_source) D(token_projection) D(trust_bundle_projection)             \
  D(pod_certificate_projection) D(projection) D(projected_source) D(scale_io_source)               \
  D(storageos_source) D(csi_source) D(claim_template) D(ephemeral_source) D(image_source)          \
  D(volume_source) D(volume) D(container_port) D(key_selector) D(file_key_selector)                \
  D(env_source) D(env_var) D(optional_reference) D(env_from) D(volume_mount)                       \
  D(volume_device) D(exec_action) D(http_header) D(http_get_action) D(tcp_socket_action)           \
  D(grpc_action) D(sleep_action) D(probe_handler) D(probe) D(lifecycle_handler)                    \
  D(lifecycle) D(capabilities) D(selinux_options) D(windows_options) D(security_profile)           \
  D(security_context) D(resize_policy) D(exit_codes) D(restart_rule) D(container)                  \
  D(ephemeral_container) D(node_requirement) D(node_term) D(node_selector)                         \
  D(preferred_node_term) D(node_affinity) D(pod_affinity_term) D(weighted_pod_term)                \
  D(pod_affinity) D(affinity) D(toleration) D(spread_constraint) D(sysctl)                         \
  D(pod_security_context) D(host_alias) D(dns_option) D(dns_config) D(readiness_gate)              \
  D(pod_os) D(scheduling_gate) D(pod_resource_claim) D(pod_spec) D(pod_condition)                  \
  D(address_ip) D(state_waiting) D(state_running) D(state_terminated) D(container_state)           \
  D(resource_health) D(resource_status) D(linux_user) D(container_user)                            \
  D(container_resources) D(container_status) D(pod_claim_status) D(extended_mapping)               \
  D(extended_claim_status) D(pod_status_more) D(pod_status) D(pod) D(taint)                        \
  D(config_map_node_source) D(node_config_source) D(node_spec) D(node_condition)                   \
  D(node_address) D(daemon_endpoint) D(daemon_endpoints) D(node_swap) D(node_info)                 \
  D(container_image) D(attached_volume) D(node_config_status) D(handler_features)                  \
  D(runtime_handler) D(node_features) D(node_status) D(node_object) D(endpoint_address)            \
  D(endpoint_port) D(endpoint_subset) D(endpoints)
// clang-format on

/* How a field is kept. An absent scalar is told apart from a zero. */
enum shape {
  SHAPE_STRING,        /* struct str; absent: ptr NULL */
  SHAPE_INTEGER,       /* struct opt_integer */
  SHAPE_BOOLEAN,       /* struct opt_boolean */
  SHAPE_TIME,          /* struct timestamp; unset is written as null, as the API does */
  SHAPE_TIME_OPTIONAL, /* struct timestamp; unset is left out */
  SHAPE_QUANTITY,      /* struct quantity */
  SHAPE_INT_OR_STRING, /* struct int_or_string */
  SHAPE_RAW,           /* struct node: opaque JSON; absent: NODE_NULL */
  SHAPE_OBJECT,        /* pointer to a struct; absent: NULL */
  SHAPE_INLINE,        /* a struct whose fields are those of the object around it */
  SHAPE_LIST,          /* struct typed_list */
  SHAPE_MAP,           /* struct typed_map */
};

struct opt_integer {
  int64_t value;
  bool set;
};

struct opt_boolean {
  bool value, set;
};

/* What is below a second is kept but not written, as in metav1.Time. */
struct timestamp {
  int64_t seconds; /* since the epoch */
  int64_t nanoseconds;
  int32_t zone_minutes; /* as given; written in UTC */
  bool set;
};

/* Compared and written by its text, which is canonical when it comes from an API server. */
struct quantity {
  struct str text;   /* absent: ptr NULL */
  struct str suffix; /* the end of text: "m", "Gi", "e3" or "" */
  double value;      /* in units, rounded */
  int64_t digits;    /* text without point and suffix: 15 for 1.5Gi */
  int32_t scale;     /* how many of them stand after the point */
};

struct int_or_string {
  struct str text; /* a string if ptr is set */
  int64_t number;
  bool set;
};

struct typed_list {
  const void *items; /* contiguous; NULL: absent, else a list of count >= 0 */
  size_t count;
};

/* Sorted by key. */
struct typed_map {
  const struct str *keys; /* NULL: absent */
  const void *values;     /* contiguous: struct str or struct quantity */
  size_t count;
};

/* How a list or map takes part in a comparison. */
enum relation {
  RELATION_NONE,
  RELATION_ATOMIC,   /* one leaf */
  RELATION_GRANULAR, /* a map whose entries are compared one by one */
  RELATION_SET,      /* a list of scalars without order */
  RELATION_KEYED,    /* a list of objects, told apart by key fields */
};

#define MAX_KEYS 2

struct list_keys {
  enum relation relation;
  const char *keys[MAX_KEYS]; /* of RELATION_KEYED */
};

struct field_def {
  const char *name;
  size_t offset;
  enum shape shape;
  const struct type_def *type; /* of the object, or of a list's or map's elements */
  struct list_keys merge;
};

struct type_def {
  enum shape shape;
  size_t size;
  const struct field_def *fields; /* of an object */
  size_t field_count;
};

extern const struct type_def def_string, def_integer, def_quantity;

_Static_assert(sizeof(struct timestamp) == 24, "the profile copies a time as 24 bytes");
_Static_assert(sizeof(struct quantity) == 56, "the profile copies a quantity as 56 bytes");

#undef linux /* predefined by gnu11, and the name of a field */

/* The shapes that the field lists use, and how their lists and maps are merged. */
#define STRING(F, T, n) F(T, STRING, n, string, WHOLE)
#define INTEGER(F, T, n) F(T, INTEGER, n, integer, WHOLE)
#define BOOLEAN(F, T, n) F(T, BOOLEAN, n, string, WHOLE)
#define TIME(F, T, n) F(T, TIME, n, string, WHOLE)
#define TIME_OPTIONAL(F, T, n) F(T, TIME_OPTIONAL, n, string, WHOLE)
#define QUANTITY(F, T, n) F(T, QUANTITY, n, quantity, WHOLE)
#define INT_OR_STRING(F, T, n) F(T, INT_OR_STRING, n, string, WHOLE)
#define RAW(F, T, n) F(T, RAW, n, string, WHOLE)
#define OBJECT(F, T, n, type) F(T, OBJECT, n, type, WHOLE)
#define INLINE(F, T, n, type) F(T, INLINE, n, type, WHOLE)
#define LIST(F, T, n, type, ...) F(T, LIST, n, type, __VA_ARGS__)
#define MAP(F, T, n, type, ...) F(T, MAP, n, type, __VA_ARGS__)
#define WHOLE RELATION_NONE, NULL, NULL
#define ATOMIC RELATION_ATOMIC, NULL, NULL
#define GRANULAR RELATION_GRANULAR, NULL, NULL
#define SET RELATION_SET, NULL, NULL
#define BY(key) RELATION_KEYED, #key, NULL
#define BY2(key1, key2) RELATION_KEYED, #key1, #key2

/* One struct a type. */
#define MEMBER_STRING(n, type) struct str n;
#define MEMBER_INTEGER(n, type) struct opt_integer n;
#define MEMBER_BOOLEAN(n, type) struct opt_boolean n;
#define MEMBER_TIME(n, type) struct timestamp n;
#define MEMBER_TIME_OPTIONAL(n, type) struct timestamp n;
#define MEMBER_QUANTITY(n, type) struct quantity n;
#define MEMBER_INT_OR_STRING(n, type) struct int_or_string n;
#define MEMBER_RAW(n, type) struct node n;
#define MEMBER_OBJECT(n, type) const struct type *n;
#define MEMBER_INLINE(n, type) struct type n;
#define MEMBER_LIST(n, type) struct typed_list n;
#define MEMBER_MAP(n, type) struct typed_map n;
#define FIELD_MEMBER(T, shape, n, type, ...) MEMBER_##shape(n, type)
#define DECLARE_TYPE(T)         \
  struct T {                    \
    FIELDS_##T(FIELD_MEMBER, T) \
  };                            \
  extern const struct type_def def_##T;

OBJECT_TYPES(DECLARE_TYPE)

#endif
