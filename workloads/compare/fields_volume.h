/*
 * Fields of core/v1 types: volumes.
 * One macro a type: its fields under their JSON names, in the order of the API's source. types.h
 * turns them into a C struct, types.c into a descriptor table; nothing else belongs here.
 */
#ifndef POOLBENCH_COMPARE_FIELDS_VOLUME_H
#define POOLBENCH_COMPARE_FIELDS_VOLUME_H

#define FIELDS_key_to_path(F, T) \
  STRING(F, T, key)              \
  STRING(F, T, path)             \
  INTEGER(F, T, mode)

#define FIELDS_host_path_source(F, T) \
  STRING(F, T, path)                  \
  STRING(F, T, type)

#define FIELDS_empty_dir_source(F, T) \
  STRING(F, T, medium)                \
  QUANTITY(F, T, sizeLimit)

#define FIELDS_disk_source(F, T) \
  STRING(F, T, pdName)           \
  STRING(F, T, volumeID)         \
  STRING(F, T, fsType)           \
  INTEGER(F, T, partition)       \
  BOOLEAN(F, T, readOnly)

#define FIELDS_git_repo_source(F, T) \
  STRING(F, T, repository)           \
  STRING(F, T, revision)             \
  STRING(F, T, directory)

#define FIELDS_secret_source(F, T)       \
  STRING(F, T, secretName)               \
  LIST(F, T, items, key_to_path, ATOMIC) \
  INTEGER(F, T, defaultMode)             \
  BOOLEAN(F, T, optional)

#define FIELDS_config_map_source(F, T)   \
  STRING(F, T, name)                     \
  LIST(F, T, items, key_to_path, ATOMIC) \
  INTEGER(F, T, defaultMode)             \
  BOOLEAN(F, T, optional)

#define FIELDS_nfs_source(F, T) \
  STRING(F, T, server)          \
  STRING(F, T, path)            \
  BOOLEAN(F, T, readOnly)

#define FIELDS_iscsi_source(F, T)          \
  STRING(F, T, targetPortal)               \
  STRING(F, T, iqn)                        \
  INTEGER(F, T, lun)                       \
  STRING(F, T, iscsiInterface)             \
  STRING(F, T, fsType)                     \
  BOOLEAN(F, T, readOnly)                  \
  LIST(F, T, portals, string, ATOMIC)      \
  BOOLEAN(F, T, chapAuthDiscovery)         \
  BOOLEAN(F, T, chapAuthSession)           \
  OBJECT(F, T, secretRef, local_reference) \
  STRING(F, T, initiatorName)

#define FIELDS_glusterfs_source(F, T) \
  STRING(F, T, endpoints)             \
  STRING(F, T, path)                  \
  BOOLEAN(F, T, readOnly)

#define FIELDS_claim_source(F, T) \
  STRING(F, T, claimName)         \
  BOOLEAN(F, T, readOnly)

#define FIELDS_rbd_source(F, T)            \
  LIST(F, T, monitors, string, ATOMIC)     \
  STRING(F, T, image)                      \
  STRING(F, T, fsType)                     \
  STRING(F, T, pool)                       \
  STRING(F, T, user)                       \
  STRING(F, T, keyring)                    \
  OBJECT(F, T, secretRef, local_reference) \
  BOOLEAN(F, T, readOnly)

#define FIELDS_flex_source(F, T)           \
  STRING(F, T, driver)                     \
  STRING(F, T, fsType)                     \
  OBJECT(F, T, secretRef, local_reference) \
  BOOLEAN(F, T, readOnly)                  \
  MAP(F, T, options, string, GRANULAR)

#define FIELDS_cinder_source(F, T) \
  STRING(F, T, volumeID)           \
  STRING(F, T, fsType)             \
  BOOLEAN(F, T, readOnly)          \
  OBJECT(F, T, secretRef, local_reference)

#define FIELDS_cephfs_source(F, T)         \
  LIST(F, T, monitors, string, ATOMIC)     \
  STRING(F, T, path)                       \
  STRING(F, T, user)                       \
  STRING(F, T, secretFile)                 \
  OBJECT(F, T, secretRef, local_reference) \
  BOOLEAN(F, T, readOnly)

#define FIELDS_flocker_source(F, T) \
  STRING(F, T, datasetName)         \
  STRING(F, T, datasetUUID)

#define FIELDS_field_selector(F, T) \
  STRING(F, T, apiVersion)          \
  STRING(F, T, fieldPath)

#define FIELDS_resource_selector(F, T) \
  STRING(F, T, containerName)          \
  STRING(F, T, resource)               \
  QUANTITY(F, T, divisor)

#define FIELDS_downward_item(F, T)                  \
  STRING(F, T, path)                                \
  OBJECT(F, T, fieldRef, field_selector)            \
  OBJECT(F, T, resourceFieldRef, resource_selector) \
  INTEGER(F, T, mode)

#define FIELDS_downward_source(F, T)       \
  LIST(F, T, items, downward_item, ATOMIC) \
  INTEGER(F, T, defaultMode)

#define FIELDS_fc_source(F, T)           \
  LIST(F, T, targetWWNs, string, ATOMIC) \
  INTEGER(F, T, lun)                     \
  STRING(F, T, fsType)                   \
  BOOLEAN(F, T, readOnly)                \
  LIST(F, T, wwids, string, ATOMIC)

#define FIELDS_azure_file_source(F, T) \
  STRING(F, T, secretName)             \
  STRING(F, T, shareName)              \
  BOOLEAN(F, T, readOnly)

#define FIELDS_vsphere_source(F, T) \
  STRING(F, T, volumePath)          \
  STRING(F, T, fsType)              \
  STRING(F, T, storagePolicyName)   \
  STRING(F, T, storagePolicyID)

#define FIELDS_quobyte_source(F, T) \
  STRING(F, T, registry)            \
  STRING(F, T, volume)              \
  BOOLEAN(F, T, readOnly)           \
  STRING(F, T, user)                \
  STRING(F, T, group)               \
  STRING(F, T, tenant)

#define FIELDS_azure_disk_source(F, T) \
  STRING(F, T, diskName)               \
  STRING(F, T, diskURI)                \
  STRING(F, T, cachingMode)            \
  STRING(F, T, fsType)                 \
  BOOLEAN(F, T, readOnly)              \
  STRING(F, T, kind)

#define FIELDS_photon_source(F, T) \
  STRING(F, T, pdID)               \
  STRING(F, T, fsType)

#define FIELDS_token_projection(F, T) \
  STRING(F, T, audience)              \
  INTEGER(F, T, expirationSeconds)    \
  STRING(F, T, path)

#define FIELDS_trust_bundle_projection(F, T)  \
  STRING(F, T, name)                          \
  STRING(F, T, signerName)                    \
  OBJECT(F, T, labelSelector, label_selector) \
  BOOLEAN(F, T, optional)                     \
  STRING(F, T, path)

#define FIELDS_pod_certificate_projection(F, T) \
  STRING(F, T, signerName)                      \
  STRING(F, T, keyType)                         \
  INTEGER(F, T, maxExpirationSeconds)           \
  STRING(F, T, credentialBundlePath)            \
  STRING(F, T, keyPath)                         \
  STRING(F, T, certificateChainPath)            \
  MAP(F, T, userAnnotations, string, GRANULAR)

#define FIELDS_projection(F, T)                             \
  OBJECT(F, T, secret, config_map_source)                   \
  OBJECT(F, T, downwardAPI, downward_source)                \
  OBJECT(F, T, configMap, config_map_source)                \
  OBJECT(F, T, serviceAccountToken, token_projection)       \
  OBJECT(F, T, clusterTrustBundle, trust_bundle_projection) \
  OBJECT(F, T, podCertificate, pod_certificate_projection)

#define FIELDS_projected_source(F, T)     \
  LIST(F, T, sources, projection, ATOMIC) \
  INTEGER(F, T, defaultMode)

#define FIELDS_scale_io_source(F, T)       \
  STRING(F, T, gateway)                    \
  STRING(F, T, system)                     \
  OBJECT(F, T, secretRef, local_reference) \
  BOOLEAN(F, T, sslEnabled)                \
  STRING(F, T, protectionDomain)           \
  STRING(F, T, storagePool)                \
  STRING(F, T, storageMode)                \
  STRING(F, T, volumeName)                 \
  STRING(F, T, fsType)                     \
  BOOLEAN(F, T, readOnly)

#define FIELDS_storageos_source(F, T) \
  STRING(F, T, volumeName)            \
  STRING(F, T, volumeNamespace)       \
  STRING(F, T, fsType)                \
  BOOLEAN(F, T, readOnly)             \
  OBJECT(F, T, secretRef, local_reference)

#define FIELDS_csi_source(F, T)                 \
  STRING(F, T, driver)                          \
  BOOLEAN(F, T, readOnly)                       \
  STRING(F, T, fsType)                          \
  MAP(F, T, volumeAttributes, string, GRANULAR) \
  OBJECT(F, T, nodePublishSecretRef, local_reference)

#define FIELDS_claim_template(F, T)   \
  OBJECT(F, T, metadata, object_meta) \
  OBJECT(F, T, spec, claim_spec)

#define FIELDS_ephemeral_source(F, T) OBJECT(F, T, volumeClaimTemplate, claim_template)

#define FIELDS_image_source(F, T) \
  STRING(F, T, reference)         \
  STRING(F, T, pullPolicy)

#define FIELDS_volume_source(F, T)                  \
  OBJECT(F, T, hostPath, host_path_source)          \
  OBJECT(F, T, emptyDir, empty_dir_source)          \
  OBJECT(F, T, gcePersistentDisk, disk_source)      \
  OBJECT(F, T, awsElasticBlockStore, disk_source)   \
  OBJECT(F, T, gitRepo, git_repo_source)            \
  OBJECT(F, T, secret, secret_source)               \
  OBJECT(F, T, nfs, nfs_source)                     \
  OBJECT(F, T, iscsi, iscsi_source)                 \
  OBJECT(F, T, glusterfs, glusterfs_source)         \
  OBJECT(F, T, persistentVolumeClaim, claim_source) \
  OBJECT(F, T, rbd, rbd_source)                     \
  OBJECT(F, T, flexVolume, flex_source)             \
  OBJECT(F, T, cinder, cinder_source)               \
  OBJECT(F, T, cephfs, cephfs_source)               \
  OBJECT(F, T, flocker, flocker_source)             \
  OBJECT(F, T, downwardAPI, downward_source)        \
  OBJECT(F, T, fc, fc_source)                       \
  OBJECT(F, T, azureFile, azure_file_source)        \
  OBJECT(F, T, configMap, config_map_source)        \
  OBJECT(F, T, vsphereVolume, vsphere_source)       \
  OBJECT(F, T, quobyte, quobyte_source)             \
  OBJECT(F, T, azureDisk, azure_disk_source)        \
  OBJECT(F, T, photonPersistentDisk, photon_source) \
  OBJECT(F, T, projected, projected_source)         \
  OBJECT(F, T, portworxVolume, disk_source)         \
  OBJECT(F, T, scaleIO, scale_io_source)            \
  OBJECT(F, T, storageos, storageos_source)         \
  OBJECT(F, T, csi, csi_source)                     \
  OBJECT(F, T, ephemeral, ephemeral_source)         \
  OBJECT(F, T, image, image_source)

#define FIELDS_volume(F, T) \
  STRING(F, T, name)        \
  INLINE(F, T, source, volume_source)
#endif
