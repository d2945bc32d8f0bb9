/** Checks the connection to the server: name, proxy, certificate, clock and key. Each finding has a hint. */
import { pathOf, ROUTES } from '@windlass/client'
import { nodeTransport, proxyFrom } from '@windlass/kit'
import { checkWay, messageOf, type Way } from './check-way.ts'
import type { Report } from './report.ts'

export interface ServerCheck extends Omit<Way, 'trust'> {
  readonly token?: string | undefined
}

const TIMEOUT_MS = 10_000
/** Larger clock differences are a warning. Tokens and leases use the server's clock, and users compare log times. */
const SKEW_MS = 5_000

/** Runs the checks in order, and stops if the remaining ones would only repeat a failure. */
export async function checkServer(check: ServerCheck, report: Report): Promise<void> {
  if (!(await checkWay(check, report))) return
  if (await checkAnswer(check, report)) await checkToken(check, report)
}

async function checkAnswer(check: ServerCheck, report: Report): Promise<boolean> {
  const url = check.url.replace(/\/+$/, '') + pathOf(ROUTES.server.status)
  const sentAt = check.clock.now()
  report.begin?.('server')
  try {
    const transport = nodeTransport({ caFile: check.caFile, proxy: proxyFrom(check.environment) })
    const answer = await transport({ method: 'GET', url, headers: { accept: 'application/json' }, timeoutMs: TIMEOUT_MS })
    const body = await answer.text()
    const tookMs = check.clock.now() - sentAt
    if (answer.status !== 200 || !body.includes('"protocol"')) {
      report({
        check: 'server',
        status: 'fail',
        message: `${url} returned ${answer.status}, which is not a response of a Windlass server`,
        hint: 'Check the URL and its path, and any proxy or ingress in between.',
      })
      return false
    }
    report({ check: 'server', status: 'pass', message: `responds in ${tookMs} ms` })
    checkClock({ date: answer.headers['date'], from: sentAt, to: check.clock.now() }, report)
    return true
  } catch (error) {
    report({
      check: 'server',
      status: 'fail',
      message: `${url} does not respond: ${messageOf(error)}`,
      hint: 'Check that the server is running, and any firewall or proxy. A proxy that returns 407 needs a user name and password.',
    })
    return false
  }
}

/** Compares the clocks. The `date` header has whole seconds, so the difference has a tolerance of one second. */
function checkClock({ date, from, to }: { date: string | undefined; from: number; to: number }, report: Report): void {
  const server = Date.parse(date ?? '')
  if (Number.isNaN(server)) return report({ check: 'clock', status: 'warn', message: 'the server sent no valid date' })
  const skew = Math.max(0, Math.max(from - server - 1_000, server - to))
  report({
    check: 'clock',
    status: skew > SKEW_MS ? 'warn' : 'pass',
    message:
      skew > SKEW_MS ? `differs from that of the server by ${Math.round(skew / 1000)} s` : 'agrees with that of the server',
    hint:
      skew > SKEW_MS
        ? 'Synchronize the clock with NTP (chrony, systemd-timesyncd): certificates and log times depend on it.'
        : undefined,
  })
}

async function checkToken(check: ServerCheck, report: Report): Promise<void> {
  if (check.token === undefined) return
  report.begin?.('key')
  const transport = nodeTransport({ caFile: check.caFile, proxy: proxyFrom(check.environment) })
  const url = check.url.replace(/\/+$/, '') + pathOf(ROUTES.server.whoami)
  const headers = { accept: 'application/json', authorization: `Bearer ${check.token}` }
  const { status } = await transport({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS })
  if (status === 200) return report({ check: 'key', status: 'pass', message: 'accepted by the server' })
  report({
    check: 'key',
    status: 'fail',
    message: `rejected by the server with status ${status}`,
    hint: 'Log in again with `windlass auth login`.',
  })
}
