/*
 * Fields of core/v1 types: containers, scheduling, PodSpec, PodStatus, Pod.
 * One macro a type: its fields under their JSON names, in the order of the API's source. types.h
 * turns them into a C struct, types.c into a descriptor table; nothing else belongs here.
 */
#ifndef POOLBENCH_COMPARE_FIELDS_POD_H
#define POOLBENCH_COMPARE_FIELDS_POD_H

#define FIELDS_container_port(F, T) \
  STRING(F, T, name)                \
  INTEGER(F, T, hostPort)           \
  INTEGER(F, T, containerPort)      \
  STRING(F, T, protocol)            \
  STRING(F, T, hostIP)

#define FIELDS_key_selector(F, T) \
  STRING(F, T, name)              \
  STRING(F, T, key)               \
  BOOLEAN(F, T, optional)

#define FIELDS_file_key_selector(F, T) \
  STRING(F, T, volumeName)             \
  STRING(F, T, path)                   \
  STRING(F, T, key)                    \
  BOOLEAN(F, T, optional)

#define FIELDS_env_source(F, T)                     \
  OBJECT(F, T, fieldRef, field_selector)            \
  OBJECT(F, T, resourceFieldRef, resource_selector) \
  OBJECT(F, T, configMapKeyRef, key_selector)       \
  OBJECT(F, T, secretKeyRef, key_selector)          \
  OBJECT(F, T, fileKeyRef, file_key_selector)

#define FIELDS_env_var(F, T) \
  STRING(F, T, name)         \
  STRING(F, T, value)        \
  OBJECT(F, T, valueFrom, env_source)

#define FIELDS_optional_reference(F, T) \
  STRING(F, T, name)                    \
  BOOLEAN(F, T, optional)

#define FIELDS_env_from(F, T)                    \
  STRING(F, T, prefix)                           \
  OBJECT(F, T, configMapRef, optional_reference) \
  OBJECT(F, T, secretRef, optional_reference)

#define FIELDS_volume_mount(F, T) \
  STRING(F, T, name)              \
  BOOLEAN(F, T, readOnly)         \
  STRING(F, T, recursiveReadOnly) \
  STRING(F, T, mountPath)         \
  STRING(F, T, subPath)           \
  STRING(F, T, mountPropagation)  \
  STRING(F, T, subPathExpr)

#define FIELDS_volume_device(F, T) \
  STRING(F, T, name)               \
  STRING(F, T, devicePath)

#define FIELDS_exec_action(F, T) LIST(F, T, command, string, ATOMIC)

#define FIELDS_http_header(F, T) \
  STRING(F, T, name)             \
  STRING(F, T, value)

#define FIELDS_http_get_action(F, T) \
  STRING(F, T, path)                 \
  INT_OR_STRING(F, T, port)          \
  STRING(F, T, host)                 \
  STRING(F, T, scheme)               \
  LIST(F, T, httpHeaders, http_header, ATOMIC)

#define FIELDS_tcp_socket_action(F, T) \
  INT_OR_STRING(F, T, port)            \
  STRING(F, T, host)

#define FIELDS_grpc_action(F, T) \
  INTEGER(F, T, port)            \
  STRING(F, T, service)

#define FIELDS_sleep_action(F, T) INTEGER(F, T, seconds)

#define FIELDS_probe_handler(F, T)           \
  OBJECT(F, T, exec, exec_action)            \
  OBJECT(F, T, httpGet, http_get_action)     \
  OBJECT(F, T, tcpSocket, tcp_socket_action) \
  OBJECT(F, T, grpc, grpc_action)

#define FIELDS_probe(F, T)             \
  INLINE(F, T, handler, probe_handler) \
  INTEGER(F, T, initialDelaySeconds)   \
  INTEGER(F, T, timeoutSeconds)        \
  INTEGER(F, T, periodSeconds)         \
  INTEGER(F, T, successThreshold)      \
  INTEGER(F, T, failureThreshold)      \
  INTEGER(F, T, terminationGracePeriodSeconds)

#define FIELDS_lifecycle_handler(F, T)       \
  OBJECT(F, T, exec, exec_action)            \
  OBJECT(F, T, httpGet, http_get_action)     \
  OBJECT(F, T, tcpSocket, tcp_socket_action) \
  OBJECT(F, T, sleep, sleep_action)

#define FIELDS_lifecycle(F, T)               \
  OBJECT(F, T, postStart, lifecycle_handler) \
  OBJECT(F, T, preStop, lifecycle_handler)   \
  STRING(F, T, stopSignal)

#define FIELDS_capabilities(F, T) \
  LIST(F, T, add, string, ATOMIC) \
  LIST(F, T, drop, string, ATOMIC)

#define FIELDS_selinux_options(F, T) \
  STRING(F, T, user)                 \
  STRING(F, T, role)                 \
  STRING(F, T, type)                 \
  STRING(F, T, level)

#define FIELDS_windows_options(F, T)   \
  STRING(F, T, gmsaCredentialSpecName) \
  STRING(F, T, gmsaCredentialSpec)     \
  STRING(F, T, runAsUserName)          \
  BOOLEAN(F, T, hostProcess)

#define FIELDS_security_profile(F, T) \
  STRING(F, T, type)                  \
  STRING(F, T, localhostProfile)

#define FIELDS_security_context(F, T)            \
  OBJECT(F, T, capabilities, capabilities)       \
  BOOLEAN(F, T, privileged)                      \
  OBJECT(F, T, seLinuxOptions, selinux_options)  \
  OBJECT(F, T, windowsOptions, windows_options)  \
  INTEGER(F, T, runAsUser)                       \
  INTEGER(F, T, runAsGroup)                      \
  BOOLEAN(F, T, runAsNonRoot)                    \
  BOOLEAN(F, T, readOnlyRootFilesystem)          \
  BOOLEAN(F, T, allowPrivilegeEscalation)        \
  STRING(F, T, procMount)                        \
  OBJECT(F, T, seccompProfile, security_profile) \
  OBJECT(F, T, appArmorProfile, security_profile)

#define FIELDS_resize_policy(F, T) \
  STRING(F, T, resourceName)       \
  STRING(F, T, restartPolicy)

#define FIELDS_exit_codes(F, T) \
  STRING(F, T, operator)        \
  LIST(F, T, values, integer, SET)

#define FIELDS_restart_rule(F, T) \
  STRING(F, T, action)            \
  OBJECT(F, T, exitCodes, exit_codes)

#define FIELDS_container(F, T)                                    \
  STRING(F, T, name)                                              \
  STRING(F, T, image)                                             \
  LIST(F, T, command, string, ATOMIC)                             \
  LIST(F, T, args, string, ATOMIC)                                \
  STRING(F, T, workingDir)                                        \
  LIST(F, T, ports, container_port, BY2(containerPort, protocol)) \
  LIST(F, T, envFrom, env_from, ATOMIC)                           \
  LIST(F, T, env, env_var, BY(name))                              \
  OBJECT(F, T, resources, resource_requirements)                  \
  LIST(F, T, resizePolicy, resize_policy, ATOMIC)                 \
  STRING(F, T, restartPolicy)                                     \
  LIST(F, T, restartPolicyRules, restart_rule, ATOMIC)            \
  LIST(F, T, volumeMounts, volume_mount, BY(mountPath))           \
  LIST(F, T, volumeDevices, volume_device, BY(devicePath))        \
  OBJECT(F, T, livenessProbe, probe)                              \
  OBJECT(F, T, readinessProbe, probe)                             \
  OBJECT(F, T, startupProbe, probe)                               \
  OBJECT(F, T, lifecycle, lifecycle)                              \
  STRING(F, T, terminationMessagePath)                            \
  STRING(F, T, terminationMessagePolicy)                          \
  STRING(F, T, imagePullPolicy)                                   \
  OBJECT(F, T, securityContext, security_context)                 \
  BOOLEAN(F, T, stdin)                                            \
  BOOLEAN(F, T, stdinOnce)                                        \
  BOOLEAN(F, T, tty)

#define FIELDS_ephemeral_container(F, T) \
  INLINE(F, T, common, container)        \
  STRING(F, T, targetContainerName)

#define FIELDS_node_requirement(F, T) \
  STRING(F, T, key)                   \
  STRING(F, T, operator)              \
  LIST(F, T, values, string, ATOMIC)

#define FIELDS_node_term(F, T)                           \
  LIST(F, T, matchExpressions, node_requirement, ATOMIC) \
  LIST(F, T, matchFields, node_requirement, ATOMIC)

#define FIELDS_node_selector(F, T) LIST(F, T, nodeSelectorTerms, node_term, ATOMIC)

#define FIELDS_preferred_node_term(F, T) \
  INTEGER(F, T, weight)                  \
  OBJECT(F, T, preference, node_term)

#define FIELDS_node_affinity(F, T)                                            \
  OBJECT(F, T, requiredDuringSchedulingIgnoredDuringExecution, node_selector) \
  LIST(F, T, preferredDuringSchedulingIgnoredDuringExecution, preferred_node_term, ATOMIC)

#define FIELDS_pod_affinity_term(F, T)            \
  OBJECT(F, T, labelSelector, label_selector)     \
  LIST(F, T, namespaces, string, ATOMIC)          \
  STRING(F, T, topologyKey)                       \
  OBJECT(F, T, namespaceSelector, label_selector) \
  LIST(F, T, matchLabelKeys, string, ATOMIC)      \
  LIST(F, T, mismatchLabelKeys, string, ATOMIC)

#define FIELDS_weighted_pod_term(F, T) \
  INTEGER(F, T, weight)                \
  OBJECT(F, T, podAffinityTerm, pod_affinity_term)

#define FIELDS_pod_affinity(F, T)                                                       \
  LIST(F, T, requiredDuringSchedulingIgnoredDuringExecution, pod_affinity_term, ATOMIC) \
  LIST(F, T, preferredDuringSchedulingIgnoredDuringExecution, weighted_pod_term, ATOMIC)

#define FIELDS_affinity(F, T)               \
  OBJECT(F, T, nodeAffinity, node_affinity) \
  OBJECT(F, T, podAffinity, pod_affinity)   \
  OBJECT(F, T, podAntiAffinity, pod_affinity)

#define FIELDS_toleration(F, T) \
  STRING(F, T, key)             \
  STRING(F, T, operator)        \
  STRING(F, T, value)           \
  STRING(F, T, effect)          \
  INTEGER(F, T, tolerationSeconds)

#define FIELDS_spread_constraint(F, T)        \
  INTEGER(F, T, maxSkew)                      \
  STRING(F, T, topologyKey)                   \
  STRING(F, T, whenUnsatisfiable)             \
  OBJECT(F, T, labelSelector, label_selector) \
  INTEGER(F, T, minDomains)                   \
  STRING(F, T, nodeAffinityPolicy)            \
  STRING(F, T, nodeTaintsPolicy)              \
  LIST(F, T, matchLabelKeys, string, ATOMIC)

#define FIELDS_sysctl(F, T) \
  STRING(F, T, name)        \
  STRING(F, T, value)

#define FIELDS_pod_security_context(F, T)         \
  OBJECT(F, T, seLinuxOptions, selinux_options)   \
  OBJECT(F, T, windowsOptions, windows_options)   \
  INTEGER(F, T, runAsUser)                        \
  INTEGER(F, T, runAsGroup)                       \
  BOOLEAN(F, T, runAsNonRoot)                     \
  LIST(F, T, supplementalGroups, integer, ATOMIC) \
  STRING(F, T, supplementalGroupsPolicy)          \
  INTEGER(F, T, fsGroup)                          \
  LIST(F, T, sysctls, sysctl, ATOMIC)             \
  STRING(F, T, fsGroupChangePolicy)               \
  OBJECT(F, T, seccompProfile, security_profile)  \
  OBJECT(F, T, appArmorProfile, security_profile) \
  STRING(F, T, seLinuxChangePolicy)

#define FIELDS_host_alias(F, T) \
  STRING(F, T, ip)              \
  LIST(F, T, hostnames, string, ATOMIC)

#define FIELDS_dns_option(F, T) \
  STRING(F, T, name)            \
  STRING(F, T, value)

#define FIELDS_dns_config(F, T)           \
  LIST(F, T, nameservers, string, ATOMIC) \
  LIST(F, T, searches, string, ATOMIC)    \
  LIST(F, T, options, dns_option, ATOMIC)

#define FIELDS_readiness_gate(F, T) STRING(F, T, conditionType)

#define FIELDS_pod_os(F, T) STRING(F, T, name)

#define FIELDS_scheduling_gate(F, T) STRING(F, T, name)

#define FIELDS_pod_resource_claim(F, T) \
  STRING(F, T, name)                    \
  STRING(F, T, resourceClaimName)       \
  STRING(F, T, resourceClaimTemplateName)

#define FIELDS_pod_spec(F, T)                                                                   \
  LIST(F, T, volumes, volume, BY(name))                                                         \
  LIST(F, T, initContainers, container, BY(name))                                               \
  LIST(F, T, containers, container, BY(name))                                                   \
  LIST(F, T, ephemeralContainers, ephemeral_container, BY(name))                                \
  STRING(F, T, restartPolicy)                                                                   \
  INTEGER(F, T, terminationGracePeriodSeconds)                                                  \
  INTEGER(F, T, activeDeadlineSeconds)                                                          \
  STRING(F, T, dnsPolicy)                                                                       \
  MAP(F, T, nodeSelector, string, ATOMIC)                                                       \
  STRING(F, T, serviceAccountName)                                                              \
  STRING(F, T, serviceAccount)                                                                  \
  BOOLEAN(F, T, automountServiceAccountToken)                                                   \
  STRING(F, T, nodeName)                                                                        \
  BOOLEAN(F, T, hostNetwork)                                                                    \
  BOOLEAN(F, T, hostPID)                                                                        \
  BOOLEAN(F, T, hostIPC)                                                                        \
  BOOLEAN(F, T, shareProcessNamespace)                                                          \
  OBJECT(F, T, securityContext, pod_security_context)                                           \
  LIST(F, T, imagePullSecrets, local_reference, BY(name))                                       \
  STRING(F, T, hostname)                                                                        \
  STRING(F, T, subdomain)                                                                       \
  OBJECT(F, T, affinity, affinity)                                                              \
  STRING(F, T, schedulerName)                                                                   \
  LIST(F, T, tolerations, toleration, ATOMIC)                                                   \
  LIST(F, T, hostAliases, host_alias, BY(ip))                                                   \
  STRING(F, T, priorityClassName)                                                               \
  INTEGER(F, T, priority)                                                                       \
  OBJECT(F, T, dnsConfig, dns_config)                                                           \
  LIST(F, T, readinessGates, readiness_gate, ATOMIC)                                            \
  STRING(F, T, runtimeClassName)                                                                \
  BOOLEAN(F, T, enableServiceLinks)                                                             \
  STRING(F, T, preemptionPolicy)                                                                \
  MAP(F, T, overhead, quantity, GRANULAR)                                                       \
  LIST(F, T, topologySpreadConstraints, spread_constraint, BY2(topologyKey, whenUnsatisfiable)) \
  BOOLEAN(F, T, setHostnameAsFQDN)                                                              \
  OBJECT(F, T, os, pod_os)                                                                      \
  BOOLEAN(F, T, hostUsers)                                                                      \
  LIST(F, T, schedulingGates, scheduling_gate, BY(name))                                        \
  LIST(F, T, resourceClaims, pod_resource_claim, BY(name))                                      \
  OBJECT(F, T, resources, resource_requirements)                                                \
  STRING(F, T, hostnameOverride)

#define FIELDS_pod_condition(F, T)  \
  STRING(F, T, type)                \
  INTEGER(F, T, observedGeneration) \
  STRING(F, T, status)              \
  TIME(F, T, lastProbeTime)         \
  TIME(F, T, lastTransitionTime)    \
  STRING(F, T, reason)              \
  STRING(F, T, message)

#define FIELDS_address_ip(F, T) STRING(F, T, ip)

#define FIELDS_state_waiting(F, T) \
  STRING(F, T, reason)             \
  STRING(F, T, message)

#define FIELDS_state_running(F, T) TIME(F, T, startedAt)

#define FIELDS_state_terminated(F, T) \
  INTEGER(F, T, exitCode)             \
  INTEGER(F, T, signal)               \
  STRING(F, T, reason)                \
  STRING(F, T, message)               \
  TIME(F, T, startedAt)               \
  TIME(F, T, finishedAt)              \
  STRING(F, T, containerID)

#define FIELDS_container_state(F, T)   \
  OBJECT(F, T, waiting, state_waiting) \
  OBJECT(F, T, running, state_running) \
  OBJECT(F, T, terminated, state_terminated)

#define FIELDS_resource_health(F, T) \
  STRING(F, T, resourceID)           \
  STRING(F, T, health)

#define FIELDS_resource_status(F, T) \
  STRING(F, T, name)                 \
  LIST(F, T, resources, resource_health, BY(resourceID))

#define FIELDS_linux_user(F, T) \
  INTEGER(F, T, uid)            \
  INTEGER(F, T, gid)            \
  LIST(F, T, supplementalGroups, integer, ATOMIC)

#define FIELDS_container_user(F, T) OBJECT(F, T, linux, linux_user)

#define FIELDS_container_resources(F, T)                          \
  MAP(F, T, allocatedResources, quantity, GRANULAR)               \
  OBJECT(F, T, resources, resource_requirements)                  \
  LIST(F, T, allocatedResourcesStatus, resource_status, BY(name)) \
  LIST(F, T, volumeMounts, volume_mount, BY(mountPath))           \
  OBJECT(F, T, user, container_user)                              \
  STRING(F, T, stopSignal)

#define FIELDS_container_status(F, T)      \
  STRING(F, T, name)                       \
  OBJECT(F, T, state, container_state)     \
  OBJECT(F, T, lastState, container_state) \
  BOOLEAN(F, T, ready)                     \
  INTEGER(F, T, restartCount)              \
  STRING(F, T, image)                      \
  STRING(F, T, imageID)                    \
  STRING(F, T, containerID)                \
  BOOLEAN(F, T, started)                   \
  INLINE(F, T, held, container_resources)

#define FIELDS_pod_claim_status(F, T) \
  STRING(F, T, name)                  \
  STRING(F, T, resourceClaimName)

#define FIELDS_extended_mapping(F, T) \
  STRING(F, T, containerName)         \
  STRING(F, T, resourceName)          \
  STRING(F, T, requestName)

#define FIELDS_extended_claim_status(F, T)              \
  LIST(F, T, requestMappings, extended_mapping, ATOMIC) \
  STRING(F, T, resourceClaimName)

#define FIELDS_pod_status_more(F, T)                               \
  INTEGER(F, T, observedGeneration)                                \
  LIST(F, T, hostIPs, address_ip, ATOMIC)                          \
  LIST(F, T, ephemeralContainerStatuses, container_status, ATOMIC) \
  STRING(F, T, resize)                                             \
  LIST(F, T, resourceClaimStatuses, pod_claim_status, BY(name))    \
  OBJECT(F, T, extendedResourceClaimStatus, extended_claim_status) \
  MAP(F, T, allocatedResources, quantity, GRANULAR)                \
  OBJECT(F, T, resources, resource_requirements)

#define FIELDS_pod_status(F, T)                               \
  STRING(F, T, phase)                                         \
  LIST(F, T, conditions, pod_condition, BY(type))             \
  STRING(F, T, message)                                       \
  STRING(F, T, reason)                                        \
  STRING(F, T, nominatedNodeName)                             \
  STRING(F, T, hostIP)                                        \
  STRING(F, T, podIP)                                         \
  LIST(F, T, podIPs, address_ip, BY(ip))                      \
  TIME_OPTIONAL(F, T, startTime)                              \
  LIST(F, T, initContainerStatuses, container_status, ATOMIC) \
  LIST(F, T, containerStatuses, container_status, ATOMIC)     \
  STRING(F, T, qosClass)                                      \
  INLINE(F, T, more, pod_status_more)

#define FIELDS_pod(F, T)              \
  INLINE(F, T, meta, type_meta)       \
  OBJECT(F, T, metadata, object_meta) \
  OBJECT(F, T, spec, pod_spec)        \
  OBJECT(F, T, status, pod_status)
#endif
