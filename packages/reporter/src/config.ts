/** Settings of a reporter, from `WINDLASS_REPORTER_*` or options of the command. */
import { fault, nodeTransport, proxyFrom, readConfig, splitList } from '@windlass/kit'
import { LogLevel, ProbePort } from '@windlass/kit/settings'
import { accessOf, openKube } from '@windlass/kube'
import { createClient, HttpUrl, MAX_SHARDS } from '@windlass/protocol'
import { z } from 'zod'
import type { ReporterOptions } from './reporter.ts'

export const ReporterConfig = z.object({
  SERVER_URL: HttpUrl.describe('Base URL of the server.'),
  SERVER_CA_PATH: z
    .string()
    .optional()
    .describe('PEM file with certificate authorities for the server, besides the default ones.'),
  TOKEN_PATH: z
    .string('must name the file with the token (--token-file)')
    .min(1)
    .describe('File with the token of the runtime. It is read again for each report.'),
  NAMESPACES: z
    .string()
    .transform(splitList)
    .refine((names) => names.length > 0, 'must have names of namespaces')
    .optional()
    .describe('Namespaces whose applications are reported, separated by commas. Default: the whole cluster.'),
  OBJECT_NAMESPACES: z
    .string()
    .transform(splitList)
    .refine((names) => names.length > 0, 'must have names of namespaces')
    .optional()
    .describe('Namespaces whose rollouts and workflows are reported, separated by commas. Default: those of the applications.'),
  SHARDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_SHARDS)
    .default(1)
    .describe('Number of reporters that divide the applications and other objects among them.'),
  SHARD: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('The part of this reporter, from 0. Default: the number at the end of HOSTNAME, as pods of a StatefulSet have it.'),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
  PORT: ProbePort,
  LOG_LEVEL: LogLevel,
})
export type ReporterConfig = z.output<typeof ReporterConfig>

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings. Throws `config-invalid` that lists every invalid key. */
export function readReporterConfig(env: Environment): Readonly<ReporterConfig> {
  return readConfig(ReporterConfig, env, 'WINDLASS_REPORTER_')
}

/** Returns the options, with access to the cluster. Proxies come from the standard variables. Throws `config-invalid`. */
export async function toReporterOptions(
  config: ReporterConfig,
  { environment, ...rest }: Pick<ReporterOptions, 'clock' | 'log' | 'version'> & { readonly environment: Environment },
): Promise<ReporterOptions> {
  const { SHARDS: shards } = config
  const shard = config.SHARD ?? (shards === 1 ? 0 : Number(/-(\d+)$/.exec(environment['HOSTNAME'] ?? '')?.[1] ?? Number.NaN))
  if (!(shard < shards))
    throw fault('config-invalid', {
      message: `There are ${shards} reporters, and the part of this one is not a number from 0 to ${shards - 1}.`,
      hint: 'Set WINDLASS_REPORTER_SHARD, or run the reporters as a StatefulSet.',
    })
  const access = await accessOf(config.KUBECONFIG, { environment, setting: 'WINDLASS_REPORTER_KUBECONFIG' })
  const transport = nodeTransport({ caFile: config.SERVER_CA_PATH, proxy: proxyFrom(environment), connectMs: 10_000 })
  return {
    ...rest,
    kube: openKube({ access, log: rest.log, clock: rest.clock, qps: 50, burst: 100 }),
    client: createClient({ url: config.SERVER_URL, transport }),
    tokenFile: config.TOKEN_PATH,
    namespaces: config.NAMESPACES,
    objectNamespaces: config.OBJECT_NAMESPACES,
    shard,
    shards,
  }
}
