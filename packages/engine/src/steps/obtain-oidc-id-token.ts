/** Runs obtain-oidc-id-token steps: gets an ID token of the build from the server and exports it as a secret. */
import { isFault, isRefusal } from '@windlass/kit'
import { ID_TOKEN, type ResolvedObtainIdToken } from '@windlass/plan'
import type { StepRun } from '../attempt/context.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

export async function runObtainIdToken({
  action: { audience },
  context: { requestIdToken },
  output,
  signal,
}: StepRun<ResolvedObtainIdToken>): Promise<StepOutcome> {
  if (requestIdToken === undefined)
    throw new StepFailure('invalid-step', 'A local run has no server that issues ID tokens.', {
      hint: 'Run the pipeline on a server, or skip the step with --skip.',
    })
  const token = await requestIdToken(audience, signal).catch((error: unknown) => {
    if (!isFault(error) || !isRefusal(error)) throw error
    throw new StepFailure('invalid-step', `The server issues no ID token: ${error.message}`, { hint: error.hint, cause: error })
  })
  await output.say(`${ID_TOKEN} is an ID token${audience === undefined ? '' : ` for ${audience}`}.`)
  return { status: 'success', exitCode: 0, members: {}, exports: [{ name: ID_TOKEN, value: token, secret: true }] }
}
