/** Whom a pair fits: the runtime as it is for a build, and the labels by which its disk was chosen. */
import { sha256 } from '@windlass/kit'
import { LABEL, labelValue, type RuntimeSpec } from '@windlass/protocol'

/** What of a build the selector of disks can compare. */
export interface Subject {
  readonly pipeline_id: string | null
  readonly project_id: string | null
  readonly trigger: string
  readonly branch: string | null
}

/** Equal for builds that a disk of one also serves the other. */
export function fitKey(spec: RuntimeSpec, subject: Subject): string {
  const values: Readonly<Record<string, string>> = {
    [LABEL.pipeline]: subject.pipeline_id ?? '',
    [LABEL.project]: subject.project_id ?? '',
    [LABEL.trigger]: subject.trigger,
    [LABEL.branch]: subject.branch ?? '',
  }
  const keys = spec.dockerDaemonScheduler.pvcs.dind.reuseVolumeSelector.split(',').map((key) => key.trim())
  return JSON.stringify(keys.toSorted().map((key) => [key, labelValue(values[key] ?? '')]))
}

/** Changes with anything that a pod or a disk is made of. */
export function specHash(spec: RuntimeSpec): string {
  const { warmPool: _bounds, capacity: _capacity, ...made } = spec
  return sha256(JSON.stringify(made))
}
