import { fault } from '@windlass/kit'

/** Returns the error of a log that was deleted because of its age. */
export function expiredLog(buildId?: string): Error {
  return fault('not-found', {
    message: buildId === undefined ? 'The log has expired.' : `The log of build ${buildId} has expired.`,
    hint: 'Raise `WINDLASS_SERVER_LOG_DAYS` to keep the logs of later builds for longer.',
  })
}
