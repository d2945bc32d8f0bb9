import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { AGENT_ROUTES } from '../packages/client/src/agent.ts'
import { ENGINE_ROUTES } from '../packages/client/src/engine.ts'
import { ROUTES, type Route } from '../packages/client/src/index.ts'
import { MONITOR_ROUTES } from '../packages/client/src/monitor.ts'

const root = resolve(import.meta.dirname, '..')
/** The server defines the paths, and its tests test the wire. The client has the only other copy, which its tests compare with the server. */
const OWNERS = /^packages\/(server|client)\//
/** Files with a path that the client cannot provide, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'packages/pipeline/src/typed/codefresh-run.ts': 'a shell script that runs in a step',
  'packages/engine/src/run/builtins.ts': 'an address that steps get as a variable',
  'packages/cli/src/commands/connect/webhooks.ts': 'the address that a forge calls',
  'packages/web/src/access/csv.test.ts': 'records of the audit log',
  'packages/cli/test/access/links.test.ts': 'a call without the client, as a browser makes it',
  'packages/app-proxy/src/argo/api.ts': 'paths of Argo CD',
  'packages/app-proxy/src/argo/live-objects.ts': 'paths of Argo CD',
  'packages/app-proxy/src/argo/server-state.ts': 'paths of Argo CD',
  'e2e/support/argocd.ts': 'paths of Argo CD',
  'e2e/runner/gitops/argocd.test.ts': 'paths of Argo CD',
  'e2e/runner/gitops/status-scene.ts': 'paths of a forge',
  'scripts/client-paths.test.ts': 'the examples below',
}

const routes = [...Object.values(ROUTES), AGENT_ROUTES, ENGINE_ROUTES, MONITOR_ROUTES].flatMap((group) =>
  Object.values<Route>(group),
)
const segments = [...new Set(routes.map(({ path }) => path.split('/')[2] ?? ''))]
const PATH = new RegExp(String.raw`/v1/(?:${segments.join('|').replaceAll('.', String.raw`\.`)})(?![\w-])(?!\.ts|/[\w-]+\.ts)`)

/** Returns the lines of code with a path of our API; in code, a path can only be in a literal. Every line of a comment begins as one. */
function literalPaths(text: string): string[] {
  return text.split('\n').filter((line) => PATH.test(line) && !/^\s*(?:\/\/|\/?\*)/.test(line))
}

test('finds paths of our API, and no others', () => {
  const found = literalPaths(
    [
      "client.call('GET', '/v1/builds', Build)",
      'fetch(`${url}/v1/builds/${id}`)',
      "request.url.endsWith('/v1/engine/logs')",
      "import { startAgent } from './v1/agent.ts'",
      "import { startAgent } from '../src/v1/agent/index.ts'",
      "const path = '/api/v1/namespaces/default/pods'",
      "const vault = '/v1/secret/data/app'",
      ' // GET /v1/builds',
      '/** `GET /v1/builds` */',
    ].join('\n'),
  )
  expect(found).toHaveLength(3)
})

test('only the server and the client contain paths of our API', () => {
  const files = globSync(['packages/**/*.ts', 'e2e/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.ts', 'examples/**/*.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  const found = files
    .filter((file) => !OWNERS.test(file) && !Object.hasOwn(EXCEPTIONS, file))
    .flatMap((file) => literalPaths(readFileSync(resolve(root, file), 'utf8')).map((line) => `${file}: ${line.trim()}`))
  expect(found).toEqual([])
  for (const file of Object.keys(EXCEPTIONS)) expect(literalPaths(readFileSync(resolve(root, file), 'utf8'))).not.toEqual([])
})
