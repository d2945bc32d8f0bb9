/**
 * What Windlass does with each key of a `config.toml`. The reference of the keys and the warnings about keys without an effect come from this table. A test
 * compares it with the schema, and checks that the code reads each key that is `used`.
 */
import { RESOURCE_KEYS } from '../sections/kubernetes-section.ts'

export type KeyUse =
  /** Has the meaning of the original. */
  | { readonly use: 'used' }
  /** Windlass works in a way in which the key configures nothing. */
  | ({ readonly use: 'no meaning' } & Ignored)
  /** Windlass does not have the function. */
  | ({ readonly use: 'not supported'; readonly action: string } & Ignored)

interface Ignored {
  readonly reason: string
  /** Imperative, without a period at its end. */
  readonly action?: string
  /** Default of the original. A file with this value requests nothing. */
  readonly standard?: number | boolean
}

/** Returns entries of keys that are used, from their names separated by white space. */
function used(section: string, names: string): Record<string, KeyUse> {
  const keys = names.split(/\s+/).filter((name) => name !== '')
  return Object.fromEntries(keys.map((name) => [section === '' ? name : `${section}.${name}`, { use: 'used' }]))
}

function noMeaning(reason: string, more: Omit<Ignored, 'reason'> = {}): KeyUse {
  return { use: 'no meaning', reason, ...more }
}

function notSupported(reason: string, action: string, more: Omit<Ignored, 'reason' | 'action'> = {}): KeyUse {
  return { use: 'not supported', reason, action, ...more }
}

const MOUNT = 'name mount_path sub_path read_only'
const HOOK = 'exec.command http_get.host http_get.http_headers http_get.path http_get.port http_get.scheme tcp_socket'
const KUBERNETES = 'runners.kubernetes'
const NO_SUSPENSION = 'Windlass does not suspend the environment of a job'
const ONE_HELPER = 'Windlass has one helper image'
const CONTEXT =
  'run_as_user run_as_group run_as_non_root privileged allow_privilege_escalation read_only_root_filesystem selinux_type proc_mount ' +
  'capabilities.add capabilities.drop seccomp_profile.type seccomp_profile.localhost_profile app_armor_profile.type app_armor_profile.localhost_profile'

/** By the path of the key, without positions in arrays. A table has an entry if all keys below it have the same use. */
export const KEY_USES: Readonly<Record<string, KeyUse>> = {
  ...used('', 'concurrent check_interval log_level log_format listen_address connection_max_age shutdown_timeout labels'),
  sentry_dsn: notSupported(
    'Windlass sends no errors to Sentry',
    'Collect the log of the manager, which has `level` 50 for errors',
  ),
  user: noMeaning('only the shell executor runs jobs as a user of the machine'),
  ...used('session_server', 'listen_address advertise_address session_timeout'),
  machine: noMeaning('only the executor docker+machine has machines'),
  experimental: notSupported('Windlass does not have the experimental functions of the original', 'Remove [experimental]'),

  ...used('runners', 'name url id token token_obtained_at token_expires_at tls-ca-file tls-cert-file tls-key-file'),
  ...used('runners', 'limit request_concurrency strict_check_interval output_limit unhealthy_requests_limit unhealthy_interval'),
  ...used('runners', 'job_status_final_update_retry_limit executor shell builds_dir cache_dir environment clone_url'),
  ...used('runners', 'pre_get_sources_script post_get_sources_script pre_build_script post_build_script get_sources_timeout'),
  ...used(
    'runners',
    'debug_trace_disabled safe_directory_checkout clean_git_config feature_flags labels custom_build_dir.enabled',
  ),
  ...used('runners', 'artifact.upload_timeout'),
  'runners.prepare_timeout': notSupported(
    'the time for the pod to start has one limit',
    'Set `poll_timeout` of [runners.kubernetes], in seconds',
  ),
  'runners.artifact.response_header_timeout': noMeaning('`upload_timeout` includes the wait for the answer'),
  'runners.proxy_exec': noMeaning('the manager masks the output of jobs'),
  'runners.step_runner_image': notSupported('Windlass does not run CI steps', 'Use `script` in jobs'),
  'runners.referees': notSupported('Windlass attaches no metrics to jobs', 'Read the metrics of the pods from Prometheus'),
  'runners.monitoring': notSupported('Windlass does not compare the queue time of jobs with limits', 'Use the metrics of GitLab'),

  ...used('runners.cache', 'Type Path Shared MaxUploadedArchiveSize'),
  ...used('runners.cache.s3', 'ServerAddress AccessKey SecretKey SessionToken BucketName BucketLocation Insecure'),
  ...used('runners.cache.s3', 'AuthenticationType ServerSideEncryption ServerSideEncryptionKeyID DualStack Accelerate PathStyle'),
  ...used('runners.cache.s3', 'RoleARN UploadRoleARN'),
  'runners.cache.s3.AssumeRoleMaxConcurrency': noMeaning('the role is assumed once for each job', { standard: 5 }),
  ...used('runners.cache.gcs', 'AccessID PrivateKey CredentialsFile BucketName UniverseDomain'),
  ...used('runners.cache.azure', 'AccountName AccountKey ContainerName StorageDomain'),

  ...used(
    KUBERNETES,
    'host context cert_file key_file ca_file bearer_token namespace namespace_overwrite_allowed namespace_per_job',
  ),
  ...used(KUBERNETES, 'service_account service_account_overwrite_allowed automount_service_account_token poll_interval'),
  ...used(KUBERNETES, 'poll_timeout cleanup_resources_timeout pod_termination_grace_period_seconds cleanup_grace_period_seconds'),
  ...used(KUBERNETES, 'terminationGracePeriodSeconds retry_limit retry_backoff_max retry_limits'),
  ...used(KUBERNETES, 'image helper_image pull_policy allowed_pull_policies allowed_images allowed_services allowed_users'),
  ...used(KUBERNETES, 'allowed_groups image_pull_secrets use_service_account_image_pull_secrets privileged'),
  ...used(KUBERNETES, 'allow_privilege_escalation cap_add cap_drop runtime_class_name scheduler_name priority_class_name'),
  ...used(KUBERNETES, 'node_selector node_selector_overwrite_allowed node_tolerations node_tolerations_overwrite_allowed'),
  ...used(KUBERNETES, 'affinity pod_labels pod_labels_overwrite_allowed pod_annotations pod_annotations_overwrite_allowed'),
  ...used(KUBERNETES, 'host_aliases dns_policy dns_config read_only_root_filesystem'),
  ...used(`${KUBERNETES}.pod_security_context`, 'fs_group run_as_group run_as_non_root run_as_user supplemental_groups'),
  ...used(`${KUBERNETES}.pod_security_context`, 'selinux_type seccomp_profile.type seccomp_profile.localhost_profile'),
  ...used(`${KUBERNETES}.pod_security_context`, 'app_armor_profile.type app_armor_profile.localhost_profile'),
  ...used(`${KUBERNETES}.build_container_security_context`, CONTEXT),
  ...used(`${KUBERNETES}.helper_container_security_context`, CONTEXT),
  ...used(`${KUBERNETES}.service_container_security_context`, CONTEXT),
  ...used(`${KUBERNETES}.container_lifecycle.post_start`, HOOK),
  ...used(`${KUBERNETES}.container_lifecycle.pre_stop`, HOOK),
  ...used(`${KUBERNETES}.services`, 'name alias command entrypoint environment'),
  ...used(`${KUBERNETES}.volumes.host_path`, `${MOUNT} host_path mount_propagation`),
  ...used(`${KUBERNETES}.volumes.pvc`, `${MOUNT} mount_propagation`),
  ...used(`${KUBERNETES}.volumes.config_map`, `${MOUNT} items`),
  ...used(`${KUBERNETES}.volumes.secret`, `${MOUNT} items`),
  ...used(`${KUBERNETES}.volumes.empty_dir`, `${MOUNT} medium size_limit mount_propagation`),
  ...used(`${KUBERNETES}.volumes.csi`, `${MOUNT} driver fs_type volume_attributes`),
  ...used(`${KUBERNETES}.volumes.nfs`, `${MOUNT} server path`),
  ...used(`${KUBERNETES}.pod_spec`, 'name patch patch_path patch_type'),
  ...used(KUBERNETES, RESOURCE_KEYS.flatMap((key) => [key, `${key}_overwrite_max_allowed`]).join(' ')),
  [`${KUBERNETES}.bearer_token_overwrite_allowed`]: notSupported(
    'Windlass does not use tokens of the cluster from variables of jobs',
    'Set `bearer_token`, or add one [[runners]] for each token',
  ),
  [`${KUBERNETES}.resource_availability_check_max_attempts`]: notSupported(
    'Windlass does not wait for service accounts and pull secrets',
    'Create them before the runner',
  ),
  [`${KUBERNETES}.print_pod_warning_events`]: noMeaning('the log of a job has the conditions of its pod', { standard: true }),
  [`${KUBERNETES}.pod_disruption_budget`]: notSupported(
    'Windlass creates no PodDisruptionBudgets',
    'Create one that selects the label `windlass.io/gitlab-job`',
  ),
  [`${KUBERNETES}.suspend_pvc_size`]: notSupported(NO_SUSPENSION, 'Remove the key'),
  [`${KUBERNETES}.suspend_pvc_storage_class`]: notSupported(NO_SUSPENSION, 'Remove the key'),
  [`${KUBERNETES}.services.suspend_data_path`]: notSupported(NO_SUSPENSION, 'Remove the key'),
  [`${KUBERNETES}.autoscaler`]: notSupported(
    'Windlass creates no pause pods',
    'Keep nodes ready with a Deployment of pause pods that has a low priority',
  ),
  [`${KUBERNETES}.helper_image_flavor`]: noMeaning(ONE_HELPER, { action: 'Set `helper_image` for another image' }),
  [`${KUBERNETES}.helper_image_autoset_arch_and_os`]: noMeaning(ONE_HELPER, { action: 'Set `helper_image` for another image' }),
  [`${KUBERNETES}.init_permissions_container_security_context`]: noMeaning('the pods of jobs do not have this container'),
  [`${KUBERNETES}.logs_base_dir`]: noMeaning('the log of a job is on a volume of its own'),
  [`${KUBERNETES}.scripts_base_dir`]: noMeaning('the scripts of a job are on a volume of their own'),
}

/** Returns the use of a key: its own, or that of a table around it. */
export function useOf(path: readonly string[]): KeyUse | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const use = KEY_USES[path.slice(0, length).join('.')]
    if (use !== undefined) return use
  }
  return undefined
}
