/** Runs `tunnel check`: says whether the tunnel of a GitOps runtime can work from here, and if not, what is in its way. */
import { silentLog, systemClock } from '@windlass/kit'
import { isFault, type Fault, type FaultCode } from '@windlass/kit/faults'
import { VERSION } from '@windlass/plan/version'
import { checkTunnel, toTunnelClientOptions, type TunnelCheck } from '@windlass/tunnel/client'
import type { Invocation } from '../../command.ts'
import { checkWay } from '../../doctor/check-way.ts'
import { printFinding } from '../../doctor/print-finding.ts'
import { EXIT, exitCodeOf } from '../../exit-codes.ts'
import type { Finding } from '../../runner/acceptance/finding.ts'
import { clientConfig, type ClientOptions } from './client-config.ts'

interface CheckOptions extends ClientOptions {
  readonly output: 'json' | undefined
}

/** A finding, with the code of what is wrong. */
type TunnelFinding = Finding & { readonly code?: FaultCode }

const TRUST = '--ca-file (WINDLASS_TUNNEL_CA_PATH), or global.codefresh.tls.caCerts of the chart'

/** Prints each finding. Resolves to the exit code of the failure, or 0. */
export async function runTunnelCheck({ options, out, settings }: Invocation<CheckOptions>): Promise<number> {
  const config = clientConfig(options, settings)
  const { environment } = settings
  const report = (finding: TunnelFinding): void => printFinding(out, finding, options.output)
  const url = config.SERVER_URL.href
  const way = { url, caFile: config.CA_PATH, trust: TRUST, environment, clock: systemClock }
  const onWay = (finding: Finding): void =>
    report(finding.status === 'fail' ? { ...finding, code: 'server-unreachable' } : finding)
  if (!(await checkWay(way, onWay))) return EXIT.unreachable
  const client = toTunnelClientOptions(config, { env: environment, clock: systemClock, log: silentLog, version: VERSION })
  try {
    for (const finding of findingsOf(config.RUNTIME, await checkTunnel(client))) report(finding)
    return EXIT.success
  } catch (error) {
    // A file without a token is a wrong command line.
    if (!isFault(error) || error.code === 'config-invalid') throw error
    report(refusalOf(error))
    return exitCodeOf(error)
  }
}

function findingsOf(runtime: string, { url, client, roundTripMs }: TunnelCheck): TunnelFinding[] {
  const other: TunnelFinding =
    client === undefined
      ? { check: 'client', status: 'pass', message: 'no client is connected, so one from here gets the calls' }
      : {
          check: 'client',
          status: 'warn',
          code: 'tunnel-taken',
          message: `another client is connected, from ${client.address} (version ${client.version})`,
          hint: 'That is right if it is the one in the cluster. A second one gets no calls until the first has ended.',
        }
  return [
    { check: 'WebSocket', status: 'pass', message: `opens and answers in ${Math.round(roundTripMs)} ms` },
    { check: 'token', status: 'pass', message: `accepted for the runtime ${runtime}, which callers reach at ${url}` },
    other,
  ]
}

/** What each refusal is about. Others are about the server. */
const SUBJECTS: Partial<Record<FaultCode, string>> = {
  'proxy-answered': 'WebSocket',
  'protocol-unsupported': 'WebSocket',
  'server-unreachable': 'WebSocket',
  unauthenticated: 'token',
  forbidden: 'token',
}

function refusalOf({ code, message, hint, details }: Fault): TunnelFinding {
  const check = typeof details['at'] === 'string' ? details['at'] : (SUBJECTS[code] ?? 'server')
  return { check, status: 'fail', code, message, hint }
}
