/** Registries of AWS: their logins are tokens that AWS hands out for keys or roles, which the engine does not ask for. */
import type { Aws } from '@windlass/plan'
import { StepFailure } from '../attempt/context.ts'

/** Throws `StepFailure` (`integration-missing`) for a step that brings keys or a role in place of a login. A region alone changes nothing. */
export function requireLogin(aws: Aws | undefined): void {
  const field =
    aws?.roleArn !== undefined
      ? 'role_arn'
      : aws?.accessKeyId !== undefined || aws?.secretAccessKey !== undefined
        ? 'accessKeyId'
        : undefined
  if (field === undefined) return
  throw new StepFailure('integration-missing', `"${field}" asks for a login at AWS, which the engine cannot get.`, {
    hint: 'Get one in a step before (`aws ecr get-login-password`) and push with `credentials: {username: AWS, password: …}`, or name an integration that has it.',
  })
}
