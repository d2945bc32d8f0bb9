/** What the server would do with a document or a run. It knows the variables, contexts and limits of the account. */
import { useQuery } from '@tanstack/react-query'
import type { PlanAnswer } from '@windlass/protocol'
import { useSettled } from '../../parts/use-settled.ts'
import { editorQueries } from '../queries.ts'

/** Pause in the changes after which the server plans. Milliseconds. */
const PAUSE_MS = 400

export interface ServerPlan {
  readonly answer: PlanAnswer | undefined
  readonly error: unknown
  /** True if the answer is for what is written now. */
  readonly isCurrent: boolean
}

/** Returns what the server would do with a document. Asks for nothing if `isOn` is false. */
export function useServerPlan(input: Parameters<typeof editorQueries.plan>[0], isOn: boolean): ServerPlan {
  const key = JSON.stringify(input)
  const settled = useSettled(key, PAUSE_MS)
  const asked: typeof input = JSON.parse(settled)
  const { data, error, isPlaceholderData } = useQuery({ ...editorQueries.plan(asked), enabled: isOn })
  return { answer: data, error, isCurrent: settled === key && data !== undefined && !isPlaceholderData }
}
