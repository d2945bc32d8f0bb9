/** Puts together what the app-proxy of a GitOps runtime reports. */
import type { RuntimePlace } from '@windlass/gitops'
import { openClusterSecrets } from '../gitops/cluster-secrets.ts'
import { openChecks, type CheckOptions } from './checks.ts'
import { listClusterStates } from './clusters.ts'
import { reportLoop, type Reported, type ReportOptions } from './report-loop.ts'
import { keysInFile, keysInSecret } from './stored-keys.ts'

/** Clusters in one report, as public runtimes send them. */
const CLUSTER_CHUNK = 50

/** Times between two rounds, and the time for which the answer of a forge counts. Milliseconds. */
export type ReportTimes = NonNullable<ReportOptions['everyMs']> & { readonly forges: number }

type Checked = Omit<CheckOptions, 'keys' | 'forgeMs'>
type Reporting = Omit<ReportOptions, 'checks' | 'clusters' | 'chunkSize' | 'everyMs'>

export interface RuntimeParts extends Checked, Reporting {
  readonly place: RuntimePlace
  readonly tokenFile: string
  readonly tokenSecret?: string | undefined
  readonly storeIv: string
  readonly clusterChunk?: number | undefined
  readonly reporting?: ReportTimes | undefined
}

/** Reports until the signal is aborted. */
export async function reportRuntime(parts: RuntimeParts, reported: Reported): Promise<void> {
  const { place, kube, tokenFile, tokenSecret, storeIv, runtimeToken, reporting } = parts
  const { namespace } = place
  const stored = tokenSecret === undefined ? keysInFile(tokenFile, storeIv) : keysInSecret(kube, { namespace, name: tokenSecret })
  const keys = { ...stored, used: () => ({ token: runtimeToken(), randomText: storeIv }) }
  const secrets = openClusterSecrets(kube, namespace)
  await reportLoop(
    {
      ...parts,
      checks: openChecks({ ...parts, keys, forgeMs: reporting?.forges }),
      clusters: (signal) => listClusterStates({ ...parts, secrets }, signal),
      chunkSize: parts.clusterChunk ?? CLUSTER_CHUNK,
      everyMs: reporting,
    },
    reported,
  )
}
