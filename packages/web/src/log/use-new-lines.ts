/** The lines of a stream that the last successful build of the branch lacks. */
import { useQuery } from '@tanstack/react-query'
import type { LogNew } from '@windlass/protocol'
import { queries } from '../server/queries.ts'
import type { LogName } from './lines/log-state.ts'

/**
 * Reads the lines if they are wanted and there is such a build: the request would be refused without one. A reader who has asked for them gets the refusal. Undefined
 * until they are known.
 */
export function useNewLines(
  { buildId, ...stream }: LogName,
  { isWanted, isAsked = false }: { readonly isWanted: boolean; readonly isAsked?: boolean },
): LogNew | undefined {
  const { data: related } = useQuery({ ...queries.related(buildId), enabled: isWanted })
  const isKnown = isWanted && related?.lastGreen !== undefined
  return useQuery({ ...queries.newLines(buildId, stream), enabled: isAsked || isKnown }).data
}
