/** Names, labels and annotations of the pods of jobs. */
import type { Job } from '../job/payload.ts'
import { shortToken } from '../coordinator/tokens.ts'
import { ConfigurationError } from './configuration-error.ts'

/** Longest name and value of a label. Characters. */
const MAX_NAME = 63
/** Labels of the runner, which a job cannot set. */
const RESERVED = 'runner.gitlab.com'

export interface PodIdentity {
  readonly token: string
  readonly projectId: number
  /** Number of the job among those of its project on this runner. */
  readonly concurrentProjectId: number
  /** Eight characters that no other pod has. The same for each try to create the pod. */
  readonly unique: string
}

/** Returns the name of a pod: `runner-TOKEN-project-ID-concurrent-N-UNIQUE`, at most 63 characters that a DNS name may have. */
export function podName({ token, projectId, concurrentProjectId, unique }: PodIdentity): string {
  const name = `runner-${shortToken(token)}-project-${projectId}-concurrent-${concurrentProjectId}`.toLowerCase()
  const plain = name.replaceAll(/[^a-z0-9.-]/g, '').slice(0, MAX_NAME - unique.length - 1)
  return `${plain.replace(/[^a-z0-9]+$/, '')}-${unique}`
}

/** Returns a text as the value of a label: other characters become `_`, and the ends are letters or digits. */
export function labelValue(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9_.-]/g, '_')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, MAX_NAME)
    .replace(/[^A-Za-z0-9]+$/, '')
}

export interface LabelOptions {
  readonly job: Job
  readonly pod: string
  readonly token: string
  readonly managerName: string
  /** `pod_labels` of the configuration. */
  readonly own: Readonly<Record<string, string>>
  readonly expand: (text: string) => string
}

/** Returns the labels of a pod. Throws `ConfigurationError` for own labels with a reserved name. */
export function podLabels({ job, pod, token, managerName, own, expand }: LabelOptions): Record<string, string> {
  const {
    project_id: id,
    project_name: name,
    project_full_path: path,
    namespace_id: namespace,
    root_namespace_id: root,
  } = job.job_info
  const entries = Object.entries(own).map(([key, value]) => {
    const expanded = expand(key)
    if (expanded.split('/')[0]?.endsWith(RESERVED) === true)
      throw new ConfigurationError(`The label "${expanded}" of pod_labels belongs to the runner.`)
    return [expanded, labelValue(expand(value))] as const
  })
  return {
    ...Object.fromEntries(entries),
    pod: labelValue(pod),
    'job.runner.gitlab.com/pod': labelValue(pod),
    'project.runner.gitlab.com/id': String(id),
    'project.runner.gitlab.com/name': labelValue(name),
    'project.runner.gitlab.com/namespace': labelValue(path.split('/').slice(0, -1).join('/')),
    'project.runner.gitlab.com/namespace-id': String(namespace),
    'project.runner.gitlab.com/root-namespace': labelValue(path.split('/')[0] ?? ''),
    'project.runner.gitlab.com/root-namespace-id': String(root),
    'manager.runner.gitlab.com/name': labelValue(managerName),
    'manager.runner.gitlab.com/id-short': labelValue(shortToken(token)),
  }
}

/** Returns the annotations of a pod. */
export function podAnnotations(
  { id, git_info: git, job_info: info, variables }: Job,
  timeoutS: number,
  own: Readonly<Record<string, string>>,
  expand: (text: string) => string,
): Record<string, string> {
  const url = variables.find(({ key }) => key === 'CI_JOB_URL')?.value ?? ''
  return {
    ...Object.fromEntries(Object.entries(own).map(([key, value]) => [expand(key), expand(value)])),
    'job.runner.gitlab.com/id': String(id),
    'job.runner.gitlab.com/url': url,
    'job.runner.gitlab.com/sha': git.sha,
    'job.runner.gitlab.com/before_sha': git.before_sha,
    'job.runner.gitlab.com/ref': git.ref,
    'job.runner.gitlab.com/name': info.name,
    'job.runner.gitlab.com/timeout': `${timeoutS}s`,
    'project.runner.gitlab.com/id': String(info.project_id),
  }
}
