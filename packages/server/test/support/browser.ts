/** Calls of a browser: with a cookie, from a page of the server. */
import { PAGE_HEADER } from '@windlass/protocol'
import { z } from 'zod'
import type { HttpScene } from './http-scene.ts'

/** Headers of a call that a page of the server makes. */
export const OWN_PAGE = { 'sec-fetch-site': 'same-origin', [PAGE_HEADER]: '1' }

export interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
  readonly headers: Headers
}

export interface BrowserCall {
  readonly body?: object
  readonly cookie?: string
  readonly headers?: Record<string, string>
}

/** Makes a call of a page of the server. */
export async function browse(
  scene: Pick<HttpScene, 'server'>,
  method: string,
  path: string,
  call: BrowserCall = {},
): Promise<Reply> {
  return browseWith(scene, method, path, { ...call, headers: { ...OWN_PAGE, ...call.headers } })
}

/** Makes a call with only the given headers, as pages of others do. */
export async function browseWith(
  { server }: Pick<HttpScene, 'server'>,
  method: string,
  path: string,
  call: BrowserCall = {},
): Promise<Reply> {
  const answer = await fetch(server.url + path, {
    method,
    headers: {
      ...(call.body !== undefined && { 'content-type': 'application/json' }),
      ...(call.cookie !== undefined && { cookie: call.cookie }),
      ...call.headers,
    },
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
  })
  const text = await answer.text()
  const body = z.record(z.string(), z.unknown()).parse(text === '' ? {} : JSON.parse(text))
  return { status: answer.status, body, headers: answer.headers }
}

/** Returns the cookie that a response sets, in the form of the request header. */
export function cookieOf({ headers }: Reply): string {
  return headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/** Signs in. Returns the cookie; empty if the server refuses. */
export async function signIn(scene: Pick<HttpScene, 'server'>, input: object): Promise<string> {
  return cookieOf(await browse(scene, 'POST', '/v1/sessions', { body: input }))
}
