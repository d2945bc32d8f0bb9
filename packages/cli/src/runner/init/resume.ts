/** Whether an earlier `runner init` has to be carried on. */
import { fault } from '@windlass/kit/faults'
import type { Printer } from '../../printer.ts'
import type { Wishes } from '../values/wishes.ts'
import type { Asker } from './asker.ts'
import { STEPS } from './plan.ts'
import { listStates, markLines, removeState, type InstallState } from './state.ts'

interface Search {
  readonly folder: string
  readonly wishes: Wishes
  /** Fingerprint of what is asked for now. */
  readonly asked: string
  readonly asker: Asker
  readonly out: Printer
  readonly startOver: boolean
}

/**
 * The installation to go on with; undefined to begin one. What was asked for then and now must be the same: an installation is never finished
 * with settings that nobody sees. Throws `conflict` where it is not and nobody can be asked.
 */
export async function findBefore({ folder, wishes, asked, asker, out, startOver }: Search): Promise<InstallState | undefined> {
  const found = listStates(folder).find((state) => isMeant(state, wishes))
  if (found === undefined) return undefined
  if (startOver) {
    removeState(folder, found)
    return undefined
  }
  out.note(`An installation into ${found.namespace} of ${found.context} has not come to its end:`)
  const steps = STEPS.map((name) => ({ name, title: name }))
  for (const line of markLines(steps, found.marks)) out.note(`  ${line}`)
  const isSame = found.wishes === asked
  if (!isSame && !asker.asks)
    throw fault('conflict', {
      message: 'It was begun with other settings than these.',
      hint: 'Give the same ones to go on, or add --start-over.',
    })
  const question = isSame
    ? 'Go on with it?'
    : 'It was begun with other settings. Go on, with those of now for the steps that are left?'
  if (await asker.yesNo(question, isSame)) return found
  removeState(folder, found)
  return undefined
}

function isMeant(state: InstallState, { installer }: Wishes): boolean {
  const { Context, Namespace } = installer
  return (Context === undefined || Context === state.context) && (Namespace === undefined || Namespace === state.namespace)
}
