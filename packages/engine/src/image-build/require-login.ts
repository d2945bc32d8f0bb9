/** AWS registries: their logins are tokens that AWS issues for keys or roles, which the engine does not request. */
import type { Aws } from '@windlass/plan'
import { StepFailure } from '../attempt/step-outcome.ts'

/** Throws `StepFailure` (`integration-missing`) for a step with AWS keys or a role instead of a login. A region alone is accepted. */
export function requireLogin(aws: Aws | undefined): void {
  const field =
    aws?.roleArn !== undefined
      ? 'role_arn'
      : aws?.accessKeyId !== undefined || aws?.secretAccessKey !== undefined
        ? 'accessKeyId'
        : undefined
  if (field === undefined) return
  throw new StepFailure('integration-missing', `"${field}" requires an AWS login, which the engine cannot request.`, {
    hint: 'Get one in an earlier step (`aws ecr get-login-password`) and push with `credentials: {username: AWS, password: …}`, or name an integration that has it.',
  })
}
