/** The command `gitops validate-values`. Changes nothing. */
import { isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Finding } from '@windlass/kube'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import { EXIT } from '../../exit-codes.ts'
import { checkAddress, checkKey, printFindings } from '../../gitops/checks.ts'
import { openGitopsTarget, type GitopsTarget, type TargetFlags } from '../../gitops/target.ts'
import { accessOf, nameIn, readRuntimeValues, type ValueFlags } from '../../gitops/values.ts'
import { valueAt, type Tree } from '../../runner/values/read-values.ts'
import { openRetryingClient, openSession, orUndefined } from '../../session/session.ts'

/** Prints what the checks found. Resolves to 1 if one failed. */
export async function validateValues({ options, out, settings }: Invocation<TargetFlags & ValueFlags>): Promise<number> {
  const values = readRuntimeValues(options)
  await using target = await openGitopsTarget(options, settings)
  const findings = [
    await checkChart(target, values),
    ...(await checkServer(target, values, settings)),
    ...(await checkAddress(accessOf(values), settings)),
  ]
  const failed = printFindings(findings, out)
  return failed.length === 0 ? EXIT.success : EXIT.failed
}

/** Renders the chart, which checks the values against its schema and its rules. */
async function checkChart({ helm, release }: GitopsTarget, values: Tree): Promise<Finding> {
  const check = 'chart'
  try {
    const objects = await helm.render(release, values)
    return { check, status: 'pass', message: `the values render ${objects.length} objects` }
  } catch (error) {
    if (!isFault(error)) throw error
    return { check, status: 'fail', message: error.message, hint: 'See the values in charts/windlass-gitops-runtime/README.md.' }
  }
}

async function checkServer(target: GitopsTarget, values: Tree, settings: Settings): Promise<Finding[]> {
  const client = clientOf(values, settings)
  if (client === undefined)
    return [
      {
        check: 'server',
        status: 'warn',
        message: 'The server was not asked: the values have no key.',
        hint: 'Log in with `windlass auth login` to check the name.',
      },
    ]
  const key = await checkKey(client)
  return key.status === 'pass' ? [key, await checkName(client, target, values)] : [key]
}

/** Returns a client with the key of the values, or of the user, whose server the values may name otherwise; undefined without a key. */
function clientOf(values: Tree, settings: Settings): ApiClient | undefined {
  const at = (...path: readonly string[]): string | undefined => {
    const value = valueAt(values, ['global', 'codefresh', ...path])
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const [url, token] = [at('url'), at('userToken', 'token')]
  if (url !== undefined && token !== undefined) return openRetryingClient({ url, token, caFile: settings.caFile })
  try {
    const session = openSession(settings)
    return session.token === undefined ? undefined : session.client
  } catch (error) {
    if (!isFault(error, 'server-unreachable')) throw error
    return undefined
  }
}

async function checkName(client: ApiClient, { helm, release }: GitopsTarget, values: Tree): Promise<Finding> {
  const check = 'name'
  const name = nameIn(values) ?? ''
  const tunnel = name === '' ? undefined : await orUndefined(client.tunnels.get(name))
  if (tunnel === undefined) return { check, status: 'pass', message: `"${name}" is free` }
  // Without a cluster nothing is installed here.
  const installed = nameIn(await helm.values(release).catch(() => undefined))
  if (installed === name) return { check, status: 'pass', message: `"${name}" is the GitOps runtime of this namespace` }
  return {
    check,
    status: 'fail',
    message: `The GitOps runtime "${name}" exists (its tunnel is ${tunnel.status}).`,
    hint: 'Choose another name. To take over a runtime that is offline, set installer.recover to true.',
  }
}
