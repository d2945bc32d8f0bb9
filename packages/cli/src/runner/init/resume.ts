/** Finds an interrupted `runner init` to continue. */
import { fault } from '@windlass/kit/faults'
import type { Printer } from '../../printer.ts'
import type { InstallValues } from '../values/install-values.ts'
import type { Prompter } from './prompter.ts'
import { STEP_TITLES } from './plan.ts'
import { listStates, markLines, removeState, type InstallState } from './state.ts'

interface Search {
  readonly folder: string
  readonly installValues: InstallValues
  /** Fingerprint of the current settings. */
  readonly asked: string
  readonly prompter: Prompter
  readonly out: Printer
  readonly startOver: boolean
}

/**
 * Returns the installation to continue; undefined to start a new one. An installation is not continued with other settings unless the user
 * confirms it. Throws `conflict` if the settings differ and the user cannot be asked.
 */
export async function findUnfinished({
  folder,
  installValues,
  asked,
  prompter,
  out,
  startOver,
}: Search): Promise<InstallState | undefined> {
  const found = listStates(folder).find((state) => matches(state, installValues))
  if (found === undefined) return undefined
  if (startOver) {
    removeState(folder, found)
    return undefined
  }
  out.note(`An installation in ${found.namespace} of ${found.context} is not finished:`)
  for (const line of markLines(STEP_TITLES, found.marks)) out.note(`  ${line}`)
  const isSame = found.wishes === asked
  if (!isSame && !prompter.isInteractive)
    throw fault('conflict', {
      message: 'The installation was started with other settings.',
      hint: 'Use the same settings to continue, or add --start-over.',
    })
  const question = isSame
    ? 'Continue it?'
    : 'It was started with other settings. Continue with the current ones for the remaining steps?'
  if (await prompter.confirm(question, isSame)) return found
  removeState(folder, found)
  return undefined
}

function matches(state: InstallState, { installer }: InstallValues): boolean {
  const { Context, Namespace } = installer
  return (Context === undefined || Context === state.context) && (Namespace === undefined || Namespace === state.namespace)
}
