import { fault } from '@windlass/kit'
import type { ProjectQuotas } from '@windlass/protocol'

/** Returns the error of a log that was deleted because of its age, or because of a quota of its project. */
export function expiredLog(project?: { readonly name: string; readonly quotas: ProjectQuotas }): Error {
  const { logDays, maxLogBytes } = project?.quotas ?? {}
  const kept = [
    ...(logDays === undefined ? [] : [`for ${logDays} days`]),
    ...(maxLogBytes === undefined ? [] : [`up to ${maxLogBytes} bytes in total`]),
  ]
  if (project !== undefined && kept.length > 0)
    return fault('not-found', {
      message: `The log has expired. The project "${project.name}" keeps logs ${kept.join(' and ')}.`,
      hint: 'An admin changes this with `windlass set quotas`.',
    })
  return fault('not-found', {
    message: 'The log has expired.',
    hint: 'Raise `WINDLASS_SERVER_LOG_DAYS` to keep the logs of later builds for longer.',
  })
}
