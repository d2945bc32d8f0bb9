/** Matching of pairs and builds: by the spec of the runtime for the build, and by the labels by which the disk was chosen. */
import { sha256 } from '@windlass/kit'
import type { TriggerKind } from '@windlass/plan'
import { LABEL, labelValue, type RuntimeSpec } from '@windlass/protocol'

/** The fields of a build that the disk selector can compare. */
export interface Subject {
  readonly pipeline_id: string | null
  readonly project_id: string | null
  readonly trigger: TriggerKind
  readonly trigger_name: string | null
  readonly branch: string | null
}

/** Returns the value of the label `trigger`, which disks can be selected by: the name of the trigger, or its kind if it has no name. */
export function triggerLabel({ trigger, trigger_name: name }: Pick<Subject, 'trigger' | 'trigger_name'>): string {
  return name ?? trigger
}

/** Returns a key that is equal for builds that can use the same disks. */
export function fitKey(spec: RuntimeSpec, subject: Subject): string {
  const values: Readonly<Record<string, string>> = {
    [LABEL.pipeline]: subject.pipeline_id ?? '',
    [LABEL.project]: subject.project_id ?? '',
    [LABEL.trigger]: triggerLabel(subject),
    [LABEL.branch]: subject.branch ?? '',
  }
  const keys = spec.dockerDaemonScheduler.pvcs.dind.reuseVolumeSelector.split(',').map((key) => key.trim())
  return JSON.stringify(keys.toSorted().map((key) => [key, labelValue(values[key] ?? '')]))
}

/** Hashes the parts of the spec that affect pods and disks. */
export function specHash(spec: RuntimeSpec): string {
  const { warmPool: _bounds, capacity: _capacity, starts: _rate, ...made } = spec
  return sha256(JSON.stringify(made))
}
