/** The steps of a canary: what each does, and how far the rollout is with it. */
import { isRecord } from '@windlass/kit/json'
import { rolloutStepOf, type RolloutStep, type RolloutStepState } from '@windlass/protocol'
import type { RolloutManifest } from './rollout-manifest.ts'

type Step = Readonly<Record<string, unknown>>

/** Returns the steps; none for other strategies. */
export function stepsOf(manifest: RolloutManifest): RolloutStep[] {
  const { spec, status } = manifest
  const steps = spec.strategy?.canary?.steps ?? []
  const current = rolloutStepOf(manifest)
  return steps.map((step, index): RolloutStep => {
    const kind = Object.keys(step)[0] ?? 'unknown'
    return { kind, text: textOf(kind, step[kind]), state: stateOf() }

    function stateOf(): RolloutStepState {
      // The controller returns to the first step.
      if (status?.abort === true) return 'terminated'
      if (index !== current) return index < current ? 'passed' : 'pending'
      return currentState(manifest, step)
    }
  })
}

function currentState({ spec, status }: RolloutManifest, step: Step): RolloutStepState {
  const reasons = (status?.pauseConditions ?? []).map(({ reason }) => reason)
  if (reasons.some((reason) => reason?.startsWith('Inconclusive') === true)) return 'paused-inconclusive'
  const { pause } = step
  const waitsForSomebody = reasons.includes('CanaryPauseStep') && !(isRecord(pause) && pause['duration'] !== undefined)
  if (spec.paused || waitsForSomebody) return 'paused-indefinite'
  const analysis = status?.canary?.currentStepAnalysisRunStatus?.status
  const isFailed = analysis === 'Failed' || analysis === 'Error' || status?.phase === 'Degraded'
  return isFailed ? 'failed' : 'active'
}

const TEXTS: Readonly<Record<string, (value: unknown) => string>> = {
  setWeight: (value) => `Set the weight to ${plain(value)} %`,
  pause: (value) => {
    const duration = isRecord(value) ? value['duration'] : undefined
    if (duration === undefined) return 'Pause until somebody resumes it'
    return `Pause for ${typeof duration === 'number' ? `${duration} s` : plain(duration)}`
  },
  analysis: (value) => `Analyze ${namesIn(value, 'templates', 'templateName')}`.trim(),
  experiment: (value) => `Experiment with ${namesIn(value, 'templates', 'name')}`,
  setCanaryScale: (value) => `Set the scale of the canary${scaleOf(value)}`,
  setHeaderRoute: (value) => `Route by header${nameIn(value)}`,
  setMirrorRoute: (value) => `Mirror the traffic${nameIn(value)}`,
  plugin: (value) => `Run the plugin${nameIn(value)}`,
}

function textOf(kind: string, value: unknown): string {
  const text = Object.hasOwn(TEXTS, kind) ? TEXTS[kind] : undefined
  return text?.(value) ?? kind
}

function namesIn(value: unknown, field: string, name: string): string {
  const items = isRecord(value) && Array.isArray(value[field]) ? value[field] : []
  return items.flatMap((item: unknown) => (isRecord(item) ? [plain(item[name])] : [])).join(', ')
}

function nameIn(value: unknown): string {
  const name = isRecord(value) ? plain(value['name']) : ''
  return name === '' ? '' : ` ${name}`
}

function scaleOf(value: unknown): string {
  if (!isRecord(value)) return ''
  const { replicas, weight, matchTrafficWeight } = value
  if (replicas !== undefined) return ` to ${plain(replicas)} replicas`
  if (weight !== undefined) return ` to ${plain(weight)} %`
  return matchTrafficWeight === true ? ' to the weight of its traffic' : ''
}

/** Returns a text or a number as it is shown. */
function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
