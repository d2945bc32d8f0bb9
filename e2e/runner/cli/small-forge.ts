/** A forge behind the firewall: what the API of Gitea says of one repository, to callers with the token. */
import { once } from 'node:events'
import http from 'node:http'

export const REPOSITORY = 'ann/app'
export const GIT_TOKEN = 'gitea-token-of-ann'
export const FILE = 'values.yaml'

export interface SmallForge extends AsyncDisposable {
  readonly url: string
}

const file = { type: 'file', encoding: 'base64', size: 9, content: Buffer.from('image: a\n').toString('base64') }
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/v1/user': { login: 'ann' },
  '/api/v1/user/repos': [{ full_name: REPOSITORY, private: true, default_branch: 'main' }],
  [`/api/v1/repos/${REPOSITORY}/branches`]: [{ name: 'main', commit: { id: 'a'.repeat(40) } }],
  [`/api/v1/repos/${REPOSITORY}/contents/${FILE}`]: file,
}

/** Starts the forge at an address that pods reach. */
export async function startSmallForge(host: string): Promise<SmallForge> {
  const server = http.createServer(({ url = '/', headers }, response) => {
    const isKnown = headers.authorization?.endsWith(` ${GIT_TOKEN}`) === true
    const body = isKnown ? ANSWERS[url.split('?')[0] ?? ''] : undefined
    const status = !isKnown ? 401 : body === undefined ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  })
  await once(server.listen(0, host), 'listening')
  const address = server.address()
  return {
    url: `http://${host}:${typeof address === 'object' && address !== null ? address.port : 0}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
