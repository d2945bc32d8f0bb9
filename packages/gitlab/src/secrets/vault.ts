/** Reads a secret of HashiCorp Vault or OpenBao: logs in with the ID token of the job, reads one field, and gives the token back. */
import { callCloud, isRefusedWith, type CloudRequest } from '@windlass/cloud'
import { fault, parseJson } from '@windlass/kit'
import { parseBaseUrl } from '@windlass/protocol'
import { z } from 'zod'
import type { VaultSecret } from '../job/payload.ts'
import { allowedVaults } from './config.ts'
import type { SecretContext } from './secret-context.ts'

const Login = z.object({ auth: z.object({ client_token: z.string() }) })
const Fields = z.record(z.string(), z.unknown())
const Content = z.object({ data: Fields })
const Versioned = z.object({ data: z.object({ data: Fields.nullable() }) })
/** Longest wait for the end of a token, whose secret is known already. Milliseconds. */
const REVOKE_MS = 5_000
const Errors = z.object({ errors: z.array(z.string()) })

/** Returns the value, or undefined if the secret or its field does not exist. Throws `storage-refused` and `storage-unreachable`. */
export async function readVaultSecret(
  { server, engine, path, field }: VaultSecret,
  { expand, env, clock, signal }: SecretContext,
): Promise<string | undefined> {
  const url = requireAddress(expand(server.url), env)
  const namespace = expand(server.namespace)
  const call = (
    action: string,
    request: Pick<CloudRequest, 'method' | 'body'> & { readonly path: string; readonly token?: string },
    until = signal,
  ) =>
    callCloud(
      clock,
      {
        provider: 'Vault',
        action,
        request: {
          method: request.method,
          url: `${url}/v1/${request.path}`,
          headers: {
            'content-type': 'application/json',
            ...(namespace !== '' && { 'x-vault-namespace': namespace }),
            ...(request.token !== undefined && { 'x-vault-token': request.token }),
          },
          ...(request.body !== undefined && { body: request.body }),
        },
        readError,
      },
      until,
    )
  const { auth } = server
  const data = Object.fromEntries(
    Object.entries(auth.data ?? {}).map(([key, value]) => [key, typeof value === 'string' ? expand(value) : value]),
  )
  const mount = pathOf(expand(auth.path === '' ? 'jwt' : auth.path))
  const login = await call('login', { method: 'POST', path: `auth/${mount}/login`, body: JSON.stringify(data) })
  const { client_token: token } = parsed(Login, login).auth
  try {
    const isVersioned = (engine.name === '' ? 'kv-v2' : engine.name) === 'kv-v2'
    const [folder, name] = [pathOf(expand(engine.path === '' ? 'kv-v2' : engine.path)), pathOf(expand(path))]
    const text = await call('read', { method: 'GET', path: `${folder}/${isVersioned ? 'data/' : ''}${name}`, token })
    const fields = isVersioned ? parsed(Versioned, text).data.data : parsed(Content, text).data
    const value = fields?.[expand(field)]
    if (value === undefined || value === null) return undefined
    return typeof value === 'string' ? value : JSON.stringify(value)
  } catch (error) {
    if (isRefusedWith(error, NOT_FOUND)) return undefined
    throw error
  } finally {
    // It expires by itself if Vault does not take it back soon.
    const soon = AbortSignal.any([signal, AbortSignal.timeout(REVOKE_MS)])
    await call('revoke-self', { method: 'POST', path: 'auth/token/revoke-self', token }, soon).catch(() => undefined)
  }
}

/** Returns the base URL of a Vault. Throws `storage-refused` if it is not a URL, or the manager does not allow it. */
function requireAddress(given: string, env: SecretContext['env']): string {
  const url = parseBaseUrl(given)
  if (url === undefined)
    throw fault('storage-refused', {
      message: `The address of Vault, "${given}", is not a URL. Set VAULT_SERVER_URL in the job.`,
    })
  const allowed = allowedVaults(env)
  if (allowed === undefined || allowed.includes(url)) return url
  throw fault('storage-refused', {
    message: `The address of Vault, "${url}", is not allowed on this runner. Set VAULT_SERVER_URL in the job to one of: ${allowed.join(', ')}.`,
  })
}

const NOT_FOUND = 'not-found'

/** Vault answers with a list of texts, which is empty for a path that does not exist. */
function readError(body: string): { code: string; message: string } {
  const { data } = Errors.safeParse(parseJson(body))
  // A job chooses the address, and must not read other servers by the manager.
  if (data === undefined) return { code: 'error', message: 'the answer has no message of Vault' }
  return data.errors.length === 0
    ? { code: NOT_FOUND, message: 'nothing is there' }
    : { code: 'error', message: data.errors.join('; ') }
}

function parsed<T>(shape: z.ZodType<T>, text: string): T {
  const { data } = shape.safeParse(parseJson(text))
  if (data === undefined) throw fault('storage-refused', { message: 'Vault sent an answer that is not that of its API.' })
  return data
}

/** Returns a path with escaped names. Throws `storage-refused` for one that leaves its place. */
function pathOf(path: string): string {
  const names = path.split('/').filter((name) => name !== '')
  if (names.includes('..') || names.includes('.')) throw fault('storage-refused', { message: `The path "${path}" is not valid.` })
  return names.map(encodeURIComponent).join('/')
}
