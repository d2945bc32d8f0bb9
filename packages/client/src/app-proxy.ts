/** The calls of the app-proxy of a GitOps runtime, with the token of its caller. */
import { GitopsAccess, GitopsAccessQuestion, GitopsRuntimeName, tolerant, type Client } from '@windlass/protocol'
import { z } from 'zod'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'
import { gitopsSettings } from './routes/gitops.ts'

export const APP_PROXY_ROUTES = {
  /** Returns who the caller is and what the caller may do at the runtime. */
  access: route('POST', '/v1/gitops-runtimes/{runtime}/access', {
    params: z.object({ runtime: GitopsRuntimeName }),
    body: GitopsAccessQuestion,
    answer: GitopsAccess,
  }),
  settings: gitopsSettings.get,
  chooseSettings: gitopsSettings.put,
}

export type AppProxyCalls = Calls<typeof APP_PROXY_ROUTES>

/** Returns the calls with the token of the client, which is that of the caller of the app-proxy. */
export function appProxyCalls(client: Client): AppProxyCalls {
  return bindCalls(client, APP_PROXY_ROUTES, tolerant)
}
