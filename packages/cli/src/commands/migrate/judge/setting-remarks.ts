/** Remarks about settings of a pipeline: those that this version stores without an effect, and names that may not exist. */
import { isRecord } from '@windlass/kit/json'
import type { PipelineSettings } from '@windlass/pipeline'
import type { References } from './references.ts'
import type { Fields } from './recognize.ts'
import type { Remark } from './verdict.ts'

/** Settings that are stored and have no effect, with what to do instead. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  variablesSchema: 'Check the variables in a step.',
  requiredAvailableStorage: 'Set dindStorage in spec.runtimeEnvironment.',
  lowMemoryWarningThreshold: 'Set it for the account: `windlass set settings lowMemoryWarningThreshold=70`.',
  packId: 'Set cpu and memory in spec.runtimeEnvironment.',
  scopes: 'Limit what steps may start with spec.startedBy and the setting childBuilds.',
  serviceAccount: 'Set the service account in the runtime environment.',
}
const MAX_NAMED = 5

export interface RemarkedPipeline {
  readonly settings: PipelineSettings
  /** `spec` as written; empty for an inline document. */
  readonly spec: Fields
  readonly references: References
}

/** Returns the remarks for the settings of a pipeline that compiles. */
export function settingRemarks({ settings, spec, references }: RemarkedPipeline): Remark[] {
  const { kept, runtimeEnvironment, contexts } = settings
  return [
    ...triggerRemarks('triggers', kept['triggers'], {
      reason: 'Triggers start builds when the forge calls this server',
      action:
        'Create a webhook with `windlass create webhook NAME --forge FORGE`, and enter its address and secret at the forge.',
    }),
    ...Object.entries(WITHOUT_EFFECT).flatMap(([field, action]) =>
      isEmpty(kept[field]) ? [] : { path: `spec.${field}`, reason: `"${field}" is stored and has no effect.`, action },
    ),
    ...runtimeRemarks(runtimeEnvironment?.name, references),
    ...contexts
      .filter((context) => !references.contextNames.has(context))
      .map((context) => ({
        path: 'spec.contexts',
        reason: `The context "${context}" is not among the resources that move.`,
        action: 'Create it with `windlass apply` before the pipeline is built.',
      })),
    ...gitRemarks(spec, references),
  ]
}

function triggerRemarks(field: string, value: unknown, { reason, action }: Pick<Remark, 'reason' | 'action'>): Remark[] {
  if (!Array.isArray(value) || value.length === 0) return []
  const names = value.flatMap((one: unknown) => (isRecord(one) && typeof one['name'] === 'string' ? one['name'] : []))
  const shown = names.slice(0, MAX_NAMED).join(', ')
  const all = shown === '' ? '' : `: ${shown}${names.length > MAX_NAMED ? ', …' : ''}`
  return [{ path: `spec.${field}`, reason: `${reason} (${value.length}${all}).`, action }]
}

function runtimeRemarks(runtime: string | undefined, { runtimes }: References): Remark[] {
  if (runtime === undefined || runtimes?.has(runtime) === true) return []
  return [
    {
      path: 'spec.runtimeEnvironment.name',
      reason:
        runtimes === undefined
          ? `Builds run on the runtime environment "${runtime}".`
          : `The runtime environment "${runtime}" does not exist.`,
      action: 'Create it with `windlass runner init`, or remove the field to use the default one.',
    },
  ]
}

/** Git contexts in `specTemplate` and `externalResources`, which the compiler does not check. */
function gitRemarks(spec: Fields, { gitContextNames }: References): Remark[] {
  const resources = Array.isArray(spec['externalResources']) ? spec['externalResources'] : []
  const places: [string, unknown][] = [
    ['spec.specTemplate.context', spec['specTemplate']],
    ...resources.map((one: unknown, index): [string, unknown] => [`spec.externalResources[${index}].context`, one]),
  ]
  return places.flatMap(([path, holder]) => {
    const name = isRecord(holder) ? holder['context'] : undefined
    if (typeof name !== 'string' || name.includes('${{') || gitContextNames.has(name)) return []
    return {
      path,
      reason: `The Git context "${name}" is not among the resources that move.`,
      action: 'Create a context of type git with this name.',
    }
  })
}

/** Returns a remark for steps of an API, whose JSON does not keep the place of keys that are numbers. */
export function orderRemarks(spec: Fields): Remark[] {
  const steps = isRecord(spec['steps']) ? Object.keys(spec['steps']) : []
  const moved = steps.filter((key) => /^\d+$/.test(key))
  if (moved.length === 0 || steps.length === 1) return []
  return [
    {
      path: 'spec.steps',
      reason: `Step names that are numbers may have lost their place (${moved.slice(0, MAX_NAMED).join(', ')}).`,
      action: 'Check the order of the steps.',
    },
  ]
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true
  if (Array.isArray(value)) return value.length === 0
  return isRecord(value) && Object.keys(value).length === 0
}
