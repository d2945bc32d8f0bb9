/** Rules of a configuration that concern the values of keys, or several keys. */
import { nearest } from '@windlass/plan/suggest'
import { featureFlags, FLAGS, unknownFlags } from '../job/feature-flags.ts'
import type { KubernetesSection } from './sections/kubernetes-section.ts'
import type { RunnerConfig, RunnerSection } from './schema.ts'
import { sessionSettings } from './session-server.ts'
import type { Path } from './keys/toml-lines.ts'

export interface Remark {
  readonly severity: 'error' | 'warning'
  readonly path: Path
  readonly message: string
  readonly hint?: string
}

/** Returns what is wrong in a configuration whose keys have the right types. */
export function remarksOn(config: RunnerConfig): Remark[] {
  const remarks = config.runners.flatMap((runner, n) => onRunner(runner, ['runners', n]))
  remarks.push(...onSessionServer(config.session_server))
  const { length } = config.runners
  if (config.concurrent < length)
    remarks.push({
      severity: 'warning',
      path: ['concurrent'],
      message: `concurrent is ${config.concurrent}, and ${length} runners share it, so some of them have to wait for the others`,
    })
  return remarks
}

function onSessionServer(section: RunnerConfig['session_server']): Remark[] {
  const settings = sessionSettings(section)
  if (settings !== undefined && 'problem' in settings)
    return [{ severity: 'error', path: ['session_server', settings.key], message: settings.problem }]
  const advertised = section?.advertise_address ?? ''
  if (settings !== undefined || advertised === '') return []
  const message = 'advertise_address has no effect without listen_address, so jobs have no terminals'
  return [{ severity: 'warning', path: ['session_server', 'advertise_address'], message }]
}

function onRunner(runner: RunnerSection, path: Path): Remark[] {
  const remarks: Remark[] = []
  const error = (key: Path, message: string, hint?: string): void =>
    void remarks.push({ severity: 'error', path: [...path, ...key], message, ...(hint !== undefined && { hint }) })
  const warning = (key: Path, message: string): void =>
    void remarks.push({ severity: 'warning', path: [...path, ...key], message })
  if (runner.executor !== 'kubernetes')
    error(
      ['executor'],
      runner.executor === undefined ? 'the executor is missing' : `the executor "${runner.executor}" is not supported`,
      'Set executor = "kubernetes".',
    )
  if ((runner.url ?? '') === '')
    error(['url'], 'the URL of the GitLab server is missing', 'Set url = "https://gitlab.example.com".')
  if ((runner.token ?? '') === '') warning(['token'], 'the runner has no token, so it gets no jobs')
  else if (/\s/.test(runner.token ?? ''))
    error(['token'], 'the token contains white space', 'Write the token without a line break at its end.')
  for (const flag of unknownFlags(Object.keys(runner.feature_flags ?? {}))) {
    const near = nearest(flag, Object.keys(FLAGS))
    remarks.push({
      severity: 'warning',
      path: [...path, 'feature_flags', flag],
      message: `the feature flag "${flag}" has no effect in Windlass`,
      hint: near === undefined ? 'Remove it.' : `Did you mean ${near}?`,
    })
  }
  if (runner.kubernetes !== undefined) remarks.push(...onKubernetes(runner, runner.kubernetes, [...path, 'kubernetes']))
  remarks.push(...onCache(runner, [...path, 'cache']))
  return remarks
}

function onKubernetes(runner: RunnerSection, section: KubernetesSection, path: Path): Remark[] {
  const remarks: Remark[] = []
  const add = (severity: Remark['severity'], key: Path, message: string): void =>
    void remarks.push({ severity, path: [...path, ...key], message })
  for (const [n, { patch, patch_path: file }] of (section.pod_spec ?? []).entries())
    if ((patch === undefined) === (file === undefined))
      add('error', ['pod_spec', n], 'a patch of the pod needs exactly one of patch and patch_path')
  if (section.pod_spec !== undefined && !featureFlags(runner).FF_USE_ADVANCED_POD_SPEC_CONFIGURATION)
    add(
      'warning',
      ['pod_spec'],
      'pod_spec has no effect without the feature flag FF_USE_ADVANCED_POD_SPEC_CONFIGURATION, which a job can set as well',
    )
  const files = [section.cert_file, section.key_file, section.ca_file].filter((file) => file !== undefined && file !== '')
  if (files.length === 1 || files.length === 2) add('error', ['cert_file'], 'cert_file, key_file and ca_file are needed together')
  if (section.terminationGracePeriodSeconds !== undefined)
    add(
      'warning',
      ['terminationGracePeriodSeconds'],
      'terminationGracePeriodSeconds is deprecated; use pod_termination_grace_period_seconds',
    )
  if (section.namespace === undefined && section.namespace_per_job !== true)
    add(
      'warning',
      ['namespace'],
      'the namespace is missing, so the pods of jobs are made in that of the manager, or of its kubeconfig',
    )
  for (const [n, { host_path: source, name }] of (section.volumes?.host_path ?? []).entries())
    if ((source ?? '').endsWith('docker.sock'))
      add(
        'warning',
        ['volumes', 'host_path', n],
        `the volume "${name}" gives jobs the Docker daemon of their node, and with it the node`,
      )
  return remarks
}

function onCache({ cache }: RunnerSection, path: Path): Remark[] {
  if (cache?.Type === undefined || cache.Type === '' || cache[cache.Type] !== undefined) return []
  return [
    {
      severity: 'warning',
      path: [...path, 'Type'],
      message: `the section [runners.cache.${cache.Type}] is missing, so jobs with a cache fail`,
    },
  ]
}
