/** User-defined networks of the daemon: containers on one find each other by name. */
import { z } from 'zod'
import { ignoring } from './containers.ts'
import type { DockerHttp } from './http.ts'

export interface Networks {
  /** Answers the id. A name that exists is no hindrance to the daemon: names must be made unique by the caller. */
  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<string>
  /** Networks with all these labels. */
  listNetworks(
    labels: readonly string[],
  ): Promise<readonly { readonly id: string; readonly labels: Readonly<Record<string, string>> }[]>
  /** Puts a container, running or not, on one more network; one that is on it already is no error. */
  connectNetwork(network: string, container: string): Promise<void>
  /** One that is gone is no error. Throws `docker-refused` (403) while a container is on it. */
  removeNetwork(network: string): Promise<void>
}

const Created = z.looseObject({ Id: z.string() })
const Listed = z.array(z.looseObject({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))

export function networkCalls(http: DockerHttp): Networks {
  return {
    async createNetwork(name, labels) {
      const body = { Name: name, Driver: 'bridge', CheckDuplicate: true, Labels: labels }
      const { Id } = await http.json('POST', '/networks/create', Created, { body })
      return Id
    },
    async listNetworks(labels) {
      const query = { filters: JSON.stringify({ label: labels }) }
      const found = await http.json('GET', '/networks', Listed, { query })
      return found.map(({ Id, Labels }) => ({ id: Id, labels: Labels ?? {} }))
    },
    async connectNetwork(network, container) {
      // 403: "endpoint with name ... already exists".
      await ignoring([403], http.done('POST', `/networks/${network}/connect`, { body: { Container: container } }))
    },
    async removeNetwork(network) {
      await ignoring([404], http.done('DELETE', `/networks/${network}`))
    },
  }
}
