/** The whole flow with an authenticating proxy as the only outbound connection, and a server with a private CA. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../../support/installation.ts'
import { openGuardedNetwork, PROXY_PASSWORD, type GuardedNetwork } from './guarded-network.ts'

let network: GuardedNetwork
let installation: Installation
beforeAll(async () => {
  network = await openGuardedNetwork()
  const { url, port, transport, files, proxyUrl } = network
  const proxy = { HTTPS_PROXY: proxyUrl }
  installation = await startInstallation(`drill-proxy-${process.pid}`, {
    edge: { url, port, transport },
    serverEnv: {
      WINDLASS_SERVER_HOST: '127.0.0.1',
      WINDLASS_SERVER_TLS_CERT_PATH: files.cert,
      WINDLASS_SERVER_TLS_KEY_PATH: files.key,
      WINDLASS_SERVER_TLS_CA_PATH: files.ca,
    },
    userEnv: { ...proxy, WINDLASS_CA_FILE: files.ca },
    agentEnv: { ...proxy, WINDLASS_AGENT_CA: files.ca },
    engine: { envVars: proxy },
    daemon: { envVars: proxy },
  })
})
afterAll(async () => {
  await installation?.close()
  await network?.[Symbol.asyncDispose]()
})

test('command line, agent, engine and daemon work behind an authenticating proxy (R067, R068)', async () => {
  const image = installation.images['TOOLS_IMAGE'] ?? ''
  const steps = {
    hello: { image, commands: ['for n in $(seq 1 100); do echo "line $n"; done', 'cf_export WORD=through'] },
    again: { image, commands: ['echo "it went $WORD"'] },
  }
  const file = await installation.file('proxy.json', JSON.stringify({ version: '1.0', steps }))
  const { code, stdout, stderr } = await installation.windlass('run', '-f', file)
  expect(code, `${stderr}\n${installation.agent.log().slice(-2_000)}`).toBe(0)
  expect(`${stdout}${stderr}`).toContain('line 100')
  expect(`${stdout}${stderr}`).toContain('it went through')
  // Pods have addresses of the cluster; processes of this machine have the address that they connect to.
  const pods = network.opened.filter((from) => from.startsWith('10.244.') && from !== installation.cluster.host)
  const local = network.opened.filter((from) => !pods.includes(from))
  expect(pods.length, JSON.stringify(network.opened)).toBeGreaterThan(0)
  expect(local.length).toBeGreaterThan(0)
  expect(network.refused).toEqual([])
  for (const text of [installation.agent.log(), installation.server.log(), stdout, stderr])
    for (const form of [PROXY_PASSWORD, encodeURIComponent(PROXY_PASSWORD)]) expect(text).not.toContain(form)
})
