/** Calls of the API of a forge with the token of a user. */
import { nodeTransport, orFault, readText, type TransportRequest } from '@windlass/kit'
import { fault, type Fault } from '@windlass/kit/faults'
import { parseJson } from '@windlass/kit/json'
import type { z } from 'zod'

const CALL_MS = 30_000
const CONNECT_MS = 10_000
const MAX_ANSWER_BYTES = 4 * 1_048_576
/** Longest part of an error text of a forge that a message quotes. */
const MAX_QUOTED = 300

export interface ForgeCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query below the base of the API. */
  readonly path: string
  readonly body?: object
}

export interface ForgeClient {
  /** Calls the API and returns the answer. Throws `forge-unreachable`, and `forge-refused` for a status that is not 2xx or another answer. */
  call<T>(call: ForgeCall, answer: z.ZodType<T>): Promise<T>
  /** Like `call`, for an answer that does not matter. */
  run(call: ForgeCall): Promise<void>
}

/** Opens the API of a forge at `base`. `headers` carry the token; they are sent only to this host, because redirects are not followed. */
export function openForgeClient(base: string, headers: Readonly<Record<string, string>>): ForgeClient {
  const { host } = new URL(base)
  const send = nodeTransport({ connectMs: CONNECT_MS })
  const exchange = async ({ method, path, body }: ForgeCall): Promise<string> => {
    const json = body === undefined ? undefined : JSON.stringify(body)
    const request: TransportRequest = {
      method,
      url: `${base}${path}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'windlass',
        ...headers,
        ...(json !== undefined && { 'content-type': 'application/json' }),
      },
      body: json,
      timeoutMs: CALL_MS,
    }
    return orFault(
      async () => {
        const response = await send(request)
        const text = await readText(response.body, MAX_ANSWER_BYTES, () => refused(host, 'sent an answer of more than 4 MiB'))
        if (response.status >= 200 && response.status < 300) return text
        throw toFault(response.status, { host, path, text })
      },
      {
        signal: undefined,
        toFault: (why, cause) =>
          fault('forge-unreachable', { message: `The forge at ${host} cannot be reached: ${why}.` }, cause),
      },
    )
  }
  return {
    async call(call, answer) {
      const { data } = answer.safeParse(parseJson(await exchange(call)))
      if (data === undefined)
        throw refused(host, `sent an answer to ${call.method} ${pathOf(call.path)} that its API does not have`, {
          hint: 'Check --forge and --url.',
        })
      return data
    },
    run: async (call) => void (await exchange(call)),
  }
}

function refused(host: string, what: string, more: { readonly hint?: string } = {}): Fault {
  return fault('forge-refused', { message: `The forge at ${host} ${what}.`, ...more })
}

interface Refusal {
  readonly host: string
  readonly path: string
  readonly text: string
}

function toFault(status: number, { host, path, text }: Refusal): Fault {
  if (status === 401) return refused(host, 'refused the token', { hint: 'Check the token and its expiry.' })
  if (status === 403 || status === 404)
    return refused(host, `answered ${status} to ${pathOf(path)}${quote(text)}`, {
      hint: 'Check the name of the repository, and that the token may read it and manage its webhooks.',
    })
  if (status >= 300 && status < 400)
    return refused(host, `redirects ${pathOf(path)}`, {
      hint: 'Check --url, and the name of the repository, which may have changed.',
    })
  return refused(host, `answered ${status} to ${pathOf(path)}${quote(text)}`)
}

function pathOf(path: string): string {
  return path.replace(/\?.*$/, '')
}

function quote(text: string): string {
  const parsed = parseJson(text)
  const said = typeof parsed === 'object' && parsed !== null && 'message' in parsed ? parsed.message : undefined
  return typeof said === 'string' && said !== '' ? `: ${said.slice(0, MAX_QUOTED).replace(/[.\s]+$/, '')}` : ''
}
