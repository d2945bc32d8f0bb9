/** Resolves repositories to URLs and credentials that are valid now: the server renews the tokens of some contexts while the build runs. */
import { endsWork, isFault } from '@windlass/kit'
import type { ResolvedGitClone } from '@windlass/plan'
import type { GitAccess } from '@windlass/protocol'
import type { AttemptContext } from '../attempt/context.ts'
import type { StepOutput } from '../output/step-output.ts'
import { StepFailure } from '../attempt/step-outcome.ts'
import { toGitTarget, type GitTarget } from './git-access.ts'

/** What a step needs for credentials. */
export interface CredentialPart {
  readonly context: Pick<AttemptContext, 'requestGitAccess' | 'clock'> & { readonly input: Pick<AttemptContext['input'], 'git'> }
  readonly output: Pick<StepOutput, 'hide'>
  readonly signal: AbortSignal
}

/** Hides the credentials from the output of the step. Throws `StepFailure` (`integration-missing`, `invalid-step`, `clone-failed`). */
export async function openGitTarget(part: CredentialPart, action: ResolvedGitClone): Promise<GitTarget> {
  const { input } = part.context
  const target = toGitTarget(action, input.git)
  const known = input.git.find(({ context }) => context === target.integration)
  const access =
    known?.expiresAt === undefined || target.secrets['credentials'] === undefined ? known : await renewed(part, known)
  part.output.hide([...target.mask, ...(access?.password === undefined ? [] : [access.password])])
  if (access === known || access === undefined) return target
  return toGitTarget(
    action,
    input.git.map((one) => (one === known ? access : one)),
  )
}

/** Returns the current access of a context, or the known one if the server does not answer before that expires. */
async function renewed({ context, signal }: CredentialPart, known: GitAccess): Promise<GitAccess> {
  try {
    return (await context.requestGitAccess?.(known.context, signal)) ?? known
  } catch (error) {
    if (endsWork('attempt', error) || !isFault(error)) throw error
    if (context.clock.now() < (known.expiresAt ?? 0)) return known
    throw new StepFailure('clone-failed', error.message, { hint: 'Run `windlass get contexts`.' })
  }
}
