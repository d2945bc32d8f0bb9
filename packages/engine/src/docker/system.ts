/** Information about the daemon. */
import { z } from 'zod'
import type { DockerHttp } from './http.ts'

const Info = z.looseObject({
  Architecture: z.string(),
  ExperimentalBuild: z.boolean().optional(),
  RegistryConfig: z
    .looseObject({
      InsecureRegistryCIDRs: z.array(z.string()).nullish(),
      IndexConfigs: z.record(z.string(), z.looseObject({ Secure: z.boolean() })).nullish(),
    })
    .nullish(),
})

export interface DaemonSettings {
  /** The architecture in Docker's platform names: `amd64`, `arm64`. */
  readonly architecture: string
  readonly isExperimental: boolean
  /** Registries (host with optional port) that it uses without TLS or without verifying their certificate. */
  readonly insecureRegistries: readonly string[]
}

export interface System {
  readSettings(): Promise<DaemonSettings>
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  armv7l: 'arm',
  i386: '386',
  i686: '386',
}

export function systemCalls(http: DockerHttp): System {
  return {
    async readSettings() {
      const { Architecture, ExperimentalBuild, RegistryConfig } = await http.json('GET', '/info', Info)
      const registries = Object.entries(RegistryConfig?.IndexConfigs ?? {})
      return {
        architecture: ARCHITECTURES[Architecture] ?? Architecture,
        isExperimental: ExperimentalBuild ?? false,
        insecureRegistries: registries.filter(([, { Secure }]) => !Secure).map(([name]) => name),
      }
    },
  }
}
