/** Lists what a build left on the daemon. Must always be empty. */
import { testDocker } from './run-pipeline.ts'

/** Returns one text for each container, network, volume and image with the label of the build. */
export async function listLeftovers(buildId: string): Promise<string[]> {
  const docker = await testDocker()
  const label = [`windlass.io/build=${buildId}`]
  return [
    ...(await docker.listContainers(label)).map(({ id }) => `container ${id}`),
    ...(await docker.listNetworks(label)).map(({ id }) => `network ${id}`),
    ...(await docker.listUnusedVolumes(label)).map(({ name }) => `volume ${name}`),
    ...(await docker.listImages(`windlass.io/build=${buildId}`)).map(({ id }) => `image ${id}`),
  ]
}
