/** What the routes of applications at their runtimes share. */
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { callApplication, type LiveCall } from '../../../gitops/live/applications.ts'
import type { RuntimeCalls } from '../../../gitops/live/runtime-client.ts'
import { ok, type Answer, type Call } from '../../route.ts'

/** The id, or RUNTIME/NAMESPACE/NAME with encoded slashes. */
export const ByApplication = z.object({ id: z.string().min(1).max(400) })
/** Concurrent calls of one caller: some open pages. */
export const CALLS_AT_ONCE = 16

type Given = Pick<Call<z.output<typeof ByApplication>, unknown, unknown>, 'params' | 'actor' | 'signal'>
type Asked<S extends z.ZodType> = Omit<LiveCall<S>, 'actor' | 'id' | 'signal'>

/** Asks the app-proxy of the runtime of an application for its caller. */
export type AskApplication = <S extends z.ZodType>(call: Given, asked: Asked<S>) => Promise<Answer>

export function openAsk(app: App, runtimes: RuntimeCalls): AskApplication {
  return async ({ params, actor, signal }, asked) =>
    ok(await callApplication(app, runtimes, { ...asked, actor, signal, id: params.id }))
}
