/** `[runners.kubernetes]`: how the pods of jobs are made. */
import { z } from 'zod'
import { bool, count, duration, environment, optionalShape, pattern, quantity, table, text, texts } from '../fields.ts'
import { Affinity, ContainerLifecycle, DnsConfig } from './scheduling-section.ts'
import { ContainerSecurityContext, PodSecurityContext } from './security-section.ts'
import { Volumes } from './volume-section.ts'

/** Whose resources a key sets: those of the build container, of the helper, of each service, or of the whole pod. */
const RESOURCE_OWNERS = ['', 'helper_', 'service_', 'pod_'] as const
type Owner = (typeof RESOURCE_OWNERS)[number]
type Quantity = `${'cpu' | 'memory' | 'ephemeral_storage'}_${'limit' | 'request'}`
export type ResourceKey = Exclude<`${Owner}${Quantity}`, `pod_ephemeral${string}`>

/** Keys of resources, such as `helper_memory_limit`. A pod as a whole has no limit of storage. */
export const RESOURCE_KEYS: readonly ResourceKey[] = RESOURCE_OWNERS.flatMap((owner) =>
  (['cpu', 'memory', 'ephemeral_storage'] as const).flatMap((resource) =>
    owner === 'pod_' && resource === 'ephemeral_storage'
      ? []
      : // The only combinations that the type excludes are left out above.
        [`${owner}${resource}_limit` as ResourceKey, `${owner}${resource}_request` as ResourceKey],
  ),
)
const GUARD_KEYS = RESOURCE_KEYS.map((key) => `${key}_overwrite_max_allowed` as const)

const PULL_POLICIES = ['', 'never', 'if-not-present', 'always'] as const
const pullPolicies = z.union([z.enum(PULL_POLICIES), z.array(z.enum(PULL_POLICIES))])

const Service = z.object({
  name: text,
  alias: text.optional(),
  command: texts.optional(),
  entrypoint: texts.optional(),
  environment: environment.optional(),
  suspend_data_path: text.optional(),
})

const PodSpecPatch = z.object({
  name: text.optional(),
  patch: text.optional(),
  patch_path: text.optional(),
  patch_type: z.enum(['merge', 'json', 'strategic', '']).optional(),
})

const AutoscalerPolicy = z.object({
  periods: texts.optional(),
  timezone: text.optional(),
  idle_count: count.optional(),
  idle_time: duration.optional(),
  scale_factor: z.number().min(0).optional(),
  scale_factor_limit: count.optional(),
})

export const KubernetesSection = z.object({
  // Connection and identity
  host: text.optional(),
  context: text.optional(),
  cert_file: text.optional(),
  key_file: text.optional(),
  ca_file: text.optional(),
  bearer_token: text.optional(),
  bearer_token_overwrite_allowed: bool.optional(),
  namespace: text.optional(),
  namespace_overwrite_allowed: pattern.optional(),
  namespace_per_job: bool.optional(),
  service_account: text.optional(),
  service_account_overwrite_allowed: pattern.optional(),
  automount_service_account_token: bool.optional(),
  // Times
  /** Seconds; values up to 0 mean the default. */
  poll_interval: z.int().optional(),
  poll_timeout: z.int().optional(),
  cleanup_resources_timeout: duration.optional(),
  pod_termination_grace_period_seconds: count.optional(),
  cleanup_grace_period_seconds: count.optional(),
  terminationGracePeriodSeconds: count.optional(),
  resource_availability_check_max_attempts: z.int().optional(),
  retry_limit: count.optional(),
  retry_backoff_max: count.optional(),
  retry_limits: z.record(z.string(), count).optional(),
  print_pod_warning_events: bool.optional(),
  pod_disruption_budget: bool.optional(),
  suspend_pvc_size: quantity.optional(),
  suspend_pvc_storage_class: text.optional(),
  autoscaler: z
    .object({
      max_pause_pods: count.optional(),
      pause_pod_image: text.optional(),
      pause_pod_priority_class_name: text.optional(),
      pause_pod_image_pull_secrets: texts.optional(),
      policy: z.array(AutoscalerPolicy).optional(),
    })
    .optional(),
  // Images
  image: text.optional(),
  helper_image: text.optional(),
  helper_image_flavor: text.optional(),
  helper_image_autoset_arch_and_os: bool.optional(),
  pull_policy: pullPolicies.optional(),
  allowed_pull_policies: z.array(z.enum(PULL_POLICIES)).optional(),
  allowed_images: texts.optional(),
  allowed_services: texts.optional(),
  allowed_users: texts.optional(),
  allowed_groups: texts.optional(),
  image_pull_secrets: texts.optional(),
  use_service_account_image_pull_secrets: bool.optional(),
  // Rights of the containers
  privileged: bool.optional(),
  allow_privilege_escalation: bool.optional(),
  cap_add: texts.optional(),
  cap_drop: texts.optional(),
  pod_security_context: PodSecurityContext.optional(),
  build_container_security_context: ContainerSecurityContext.optional(),
  helper_container_security_context: ContainerSecurityContext.optional(),
  service_container_security_context: ContainerSecurityContext.optional(),
  init_permissions_container_security_context: ContainerSecurityContext.optional(),
  // Scheduling
  runtime_class_name: text.optional(),
  scheduler_name: text.optional(),
  priority_class_name: text.optional(),
  node_selector: table.optional(),
  node_selector_overwrite_allowed: pattern.optional(),
  node_tolerations: table.optional(),
  node_tolerations_overwrite_allowed: pattern.optional(),
  affinity: Affinity.optional(),
  // Metadata
  pod_labels: table.optional(),
  pod_labels_overwrite_allowed: pattern.optional(),
  pod_annotations: table.optional(),
  pod_annotations_overwrite_allowed: pattern.optional(),
  // Network
  host_aliases: z.array(z.object({ ip: text, hostnames: texts })).optional(),
  dns_policy: z.enum(['', 'none', 'default', 'cluster-first', 'cluster-first-with-host-net']).optional(),
  dns_config: DnsConfig.optional(),
  // Containers
  container_lifecycle: ContainerLifecycle.optional(),
  logs_base_dir: text.optional(),
  scripts_base_dir: text.optional(),
  read_only_root_filesystem: bool.optional(),
  services: z.array(Service).optional(),
  volumes: Volumes.optional(),
  pod_spec: z.array(PodSpecPatch).optional(),
  ...optionalShape(RESOURCE_KEYS, quantity),
  ...optionalShape(GUARD_KEYS, quantity),
})
export type KubernetesSection = z.infer<typeof KubernetesSection>
