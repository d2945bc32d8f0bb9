/**
 * The configuration of a GitLab runner, `config.toml`, with the names of the original. Optional keys are absent where the file does not have them;
 * the rooms that use a key know its default.
 */
import { z } from 'zod'
import { CacheSection } from './sections/cache-section.ts'
import { bool, count, duration, environment, text, time } from './fields.ts'
import { KubernetesSection } from './sections/kubernetes-section.ts'

const labels = z.record(z.string(), z.string())

export const RunnerSection = z.object({
  name: text.optional(),
  url: text.optional(),
  id: z.int().optional(),
  token: text.optional(),
  token_obtained_at: time.optional(),
  token_expires_at: time.optional(),
  'tls-ca-file': text.optional(),
  'tls-cert-file': text.optional(),
  'tls-key-file': text.optional(),
  /** Jobs at the same time; 0 has no limit. */
  limit: count.optional(),
  request_concurrency: count.optional(),
  strict_check_interval: bool.optional(),
  /** KiB. */
  output_limit: count.optional(),
  unhealthy_requests_limit: count.optional(),
  unhealthy_interval: duration.optional(),
  job_status_final_update_retry_limit: count.optional(),
  executor: text.optional(),
  shell: z.enum(['', 'bash', 'sh']).optional(),
  builds_dir: text.optional(),
  cache_dir: text.optional(),
  environment: environment.optional(),
  clone_url: text.optional(),
  pre_get_sources_script: text.optional(),
  post_get_sources_script: text.optional(),
  pre_build_script: text.optional(),
  post_build_script: text.optional(),
  prepare_timeout: duration.optional(),
  get_sources_timeout: duration.optional(),
  debug_trace_disabled: bool.optional(),
  safe_directory_checkout: bool.optional(),
  clean_git_config: bool.optional(),
  proxy_exec: bool.optional(),
  feature_flags: z.record(z.string(), z.boolean()).optional(),
  labels: labels.optional(),
  step_runner_image: text.optional(),
  custom_build_dir: z.object({ enabled: bool.optional() }).optional(),
  artifact: z.object({ upload_timeout: duration.optional(), response_header_timeout: duration.optional() }).optional(),
  // Windlass has no use for these two; their keys are not looked at.
  referees: z.record(z.string(), z.unknown()).optional(),
  monitoring: z.record(z.string(), z.unknown()).optional(),
  cache: CacheSection.optional(),
  kubernetes: KubernetesSection.optional(),
})
export type RunnerSection = z.infer<typeof RunnerSection>

export const RunnerConfig = z.object({
  concurrent: z.int().min(1, 'must be at least 1').default(1),
  /** Seconds; values up to 0 mean 3. */
  check_interval: z.int().optional(),
  log_level: z.enum(['debug', 'info', 'warn', 'warning', 'error', 'fatal', 'panic']).optional(),
  log_format: z.enum(['runner', 'text', 'json']).optional(),
  listen_address: text.optional(),
  connection_max_age: duration.optional(),
  /** Seconds. */
  shutdown_timeout: count.optional(),
  sentry_dsn: text.optional(),
  labels: labels.optional(),
  user: text.optional(),
  session_server: z
    .object({
      listen_address: text.optional(),
      advertise_address: text.optional(),
      session_timeout: count.optional(),
    })
    .optional(),
  // They configure machines and usage logs of the original.
  machine: z.record(z.string(), z.unknown()).optional(),
  experimental: z.record(z.string(), z.unknown()).optional(),
  runners: z.array(RunnerSection).default([]),
})
export type RunnerConfig = z.infer<typeof RunnerConfig>
