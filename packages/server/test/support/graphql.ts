/** Requests of public clients to the GraphQL API of a server or an app-proxy. */
import { z } from 'zod'

const Body = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(z.object({ message: z.string(), extensions: z.looseObject({ code: z.string() }) })).optional(),
})

export interface GraphqlReply {
  readonly status: number
  /** The only field of the answer. */
  readonly value: unknown
  /** Code and message of the first error. */
  readonly code: string | undefined
  readonly message: string | undefined
}

/** Sends a request with a bare token, as public clients do. */
export async function askGraphql(
  url: string,
  token: string,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
): Promise<GraphqlReply> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'application/json', origin: new URL(url).host },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = Body.parse(await answer.json())
  const [value] = Object.values(data ?? {})
  const [error] = errors ?? []
  return { status: answer.status, value, code: error?.extensions.code, message: error?.message }
}
