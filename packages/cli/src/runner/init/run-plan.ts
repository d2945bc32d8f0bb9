/** Runs a plan: each step once, with its result saved before the next starts and its events reported to the server. */
import type { INSTALLATION_EVENTS } from '@windlass/protocol'
import type { Printer } from '../../printer.ts'
import type { PlannedStep, StepName } from './plan.ts'
import type { InstallState, Mark } from './state.ts'

/** The state of an installation; every change is on disk before `update` returns. */
export interface Progress {
  readonly state: InstallState
  update(changes: Partial<InstallState>): void
}

export interface PlanRun {
  readonly plan: readonly PlannedStep[]
  /** Actions must be idempotent, because an interrupted step runs again. Each resolves to a line for the user, if any. */
  readonly actions: Readonly<Record<StepName, () => Promise<string | void>>>
  readonly progress: Progress
  report(event: { event: (typeof INSTALLATION_EVENTS)[number]; status: 'success' | 'failure'; message?: string }): Promise<void>
  readonly out: Printer
}

/** Runs the plan. Marks the first failed step and throws its error. */
export async function runPlan(run: PlanRun): Promise<void> {
  const { out, progress } = run
  const mark = (name: StepName, value: Mark): void => progress.update({ marks: { ...progress.state.marks, [name]: value } })
  const reportDone = async ({ name, events }: PlannedStep): Promise<void> => {
    for (const event of events) await run.report({ event, status: 'success' })
    mark(name, { status: 'done', told: true })
  }
  for (const step of run.plan) {
    if (step.skipped !== undefined) {
      mark(step.name, { status: 'skipped', message: step.skipped })
      continue
    }
    if (progress.state.marks[step.name]?.status === 'done') {
      out.note(`${out.stderr.style.green('✓')} ${step.title} ${out.stderr.style.dim('(already done)')}`)
      // Interrupted between the end of the step and its report.
      if (progress.state.marks[step.name]?.told !== true) await reportDone(step)
      continue
    }
    mark(step.name, { status: 'begun' })
    if (step.upToMs !== undefined) out.note(out.stderr.style.dim(`… ${step.title} (up to ${step.upToMs / 60_000} min)`))
    try {
      const detail = await run.actions[step.name]()
      mark(step.name, { status: 'done' })
      out.note(`${out.stderr.style.green('✓')} ${step.title}${detail === undefined ? '' : out.stderr.style.dim(`: ${detail}`)}`)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      mark(step.name, { status: 'failed', message })
      out.note(`${out.stderr.style.red('✘')} ${step.title}`)
      await run.report({ event: step.events[0] ?? 'finished', status: 'failure', message: message.slice(0, 4000) })
      throw error
    }
    await reportDone(step)
  }
}
