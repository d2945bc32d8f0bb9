/** What users do with a rollout. */
import { fault } from '@windlass/kit/faults'
import type { RolloutAction } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import { findRollout, type Shown } from './show.ts'

/** What a rollout does after an action. */
const VERBS = {
  pause: 'paused',
  resume: 'goes on',
  'skip-current-step': 'goes on with the next step',
  'promote-full': 'goes to its end',
  abort: 'aborted',
  retry: 'begins again',
  restart: 'restarts its pods',
} as const satisfies Readonly<Record<RolloutAction, string>>

/** Runs `gitops app rollout VERB RUNTIME NAME [ROLLOUT]`. */
export async function actOnRollout({ args, options, out, settings }: Invocation<Shown>, action: RolloutAction): Promise<void> {
  const [runtime = '', application = '', given] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const { namespace, name, currentStep } = await findRollout(calls, application, given)
  const rollout = await calls.actOnRollout(application, action, { namespace, name, step: currentStep })
  if (options.output !== undefined) return printValue(out, rollout, options.output)
  return out.line(`rollout/${name} ${VERBS[action]}`)
}

/** Runs `gitops app rollout rollback RUNTIME NAME [ROLLOUT]`. */
export async function rollBackRollout({
  args,
  options,
  out,
  settings,
}: Invocation<Shown & { readonly revision: number | undefined }>): Promise<void> {
  const [runtime = '', application = '', given] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const { namespace, name, revisions } = await findRollout(calls, application, given)
  const revision = options.revision ?? revisions[1]?.revision
  if (revision === undefined) throw fault('conflict', { message: `The rollout "${name}" has no earlier revision.` })
  const done = await calls.rollBackRollout(application, { namespace, name, revision })
  if (options.output !== undefined) return printValue(out, done, options.output)
  return out.line(`rollout/${name} restores the revision ${revision} as ${done.newRevision}`)
}
