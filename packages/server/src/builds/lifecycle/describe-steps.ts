/** The steps of a build in its complete form, and what follows from them: its progress and the step to blame. */
import {
  blamedStep,
  describeStep,
  isFinalBuild,
  progressOf,
  stateOf,
  type BuildContext,
  type Plan,
  type Progress,
  type Snapshot,
  type StepState,
} from '@windlass/plan'
import type { Build, BuildStep } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listCarriedFacts } from '../../store/builds/events.ts'
import { listStreams } from '../../store/builds/logs/streams.ts'
import type { BuildPlanRow, BuildRow } from '../../store/schema/schema.ts'
import { readRequest } from '../create/request.ts'
import { readSnapshot } from '../create/snapshot.ts'
import { present } from './present.ts'
import { stepFactsOf, type StepFacts } from './step-facts.ts'

/** Returns the parts of the complete form of a build that come from its plan. */
export async function describeSteps(
  app: App,
  build: BuildRow,
  { stored, plan }: { readonly stored: BuildPlanRow; readonly plan: Plan },
): Promise<Pick<Build, 'progress' | 'waiting' | 'blame' | 'why' | 'steps'>> {
  const { query } = app.store
  const snapshot = await readSnapshot(app, query, { build, plan, open: false })
  const carried = new Map((await listCarriedFacts(query, build.id)).map(({ at, data }) => [stepOf(data), at]))
  const facts = stepFactsOf({ plan, snapshot, context: contextOf(build, stored), streams: await listStreams(query, build.id) })
  const progress = progressOf(plan, snapshot)
  return {
    progress: shownProgress(build, progress),
    ...present({ waiting: heldWait(build, progress) }),
    ...blameIn(build, stored, { plan, snapshot }),
    steps: toSteps(build, plan, { snapshot, carried, facts }),
  }
}

function contextOf({ cancel_reason: cancelled }: BuildRow, stored: Pick<BuildPlanRow, 'request'>): BuildContext {
  const { only, skip } = readRequest(stored)
  return { only, skip, ...present({ cancelled }) }
}

/** Returns the step to blame for the failure of a build, and why it failed. Empty if no step is. */
export function blameIn(
  build: BuildRow,
  stored: Pick<BuildPlanRow, 'request'>,
  { plan, snapshot }: { readonly plan: Plan; readonly snapshot: Snapshot },
): Pick<Build, 'blame' | 'why'> {
  const blame = blamedStep(plan, snapshot, contextOf(build, stored))
  return blame === undefined ? {} : { blame, why: describeStep(stateOf(snapshot, blame)) }
}

/** Returns the progress of a build. Nothing runs in a build that has ended. */
export function shownProgress({ status }: BuildRow, { current, held: _held, ...counts }: Progress): Build['progress'] {
  return { ...counts, ...(!isFinalBuild(status) && present({ current })) }
}

/** Returns the wait of a running build for the debugger; undefined if the debugger holds none of its steps. */
export function heldWait({ status }: BuildRow, { held }: Progress): Build['waiting'] {
  return status === 'running' && held !== undefined ? { reason: 'debugger', since: held.since } : undefined
}

function stepOf(data: string): string {
  const fields: unknown = JSON.parse(data)
  return typeof fields === 'object' && fields !== null && 'step' in fields ? String(fields.step) : ''
}

interface Known {
  readonly snapshot: Snapshot
  /** Step -> the time when it ended in the repeated build. */
  readonly carried: ReadonlyMap<string, number>
  readonly facts: ReadonlyMap<string, StepFacts>
}

function toSteps(build: BuildRow, plan: Plan, { snapshot, carried, facts }: Known): BuildStep[] {
  return plan.steps.map((step) => {
    const state = snapshot.steps[step.name]
    return {
      name: step.name,
      title: step.title,
      type: step.action.kind,
      ...present({ stage: step.stage, parent: step.parent ?? step.hook?.of }),
      ...statusOf(build, state),
      try: state?.try ?? 0,
      ...(state?.finishedAt !== undefined && carried.get(step.name) === state.finishedAt && { carried: true }),
      ...facts.get(step.name),
      ...present({ exitCode: state?.exitCode, usage: state?.usage, startedAt: state?.startedAt, finishedAt: state?.finishedAt }),
    }
  })
}

/** Returns the status of a step. In an ended build, steps without a final status were interrupted or never reached. */
function statusOf(build: BuildRow, state: StepState | undefined): Pick<BuildStep, 'status' | 'reason' | 'message' | 'hint'> {
  const status = state?.status ?? 'pending'
  if (isFinalBuild(build.status) && status === 'pending') return { status: 'skipped', reason: 'not-reached' }
  if (isFinalBuild(build.status) && (status === 'running' || status === 'waiting')) {
    return { status: 'terminated', ...present({ reason: build.reason, message: build.message }) }
  }
  return { status, ...present({ reason: state?.reason, message: state?.message, hint: state?.hint }) }
}
