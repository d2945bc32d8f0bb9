/** The images of a job on the daemon. */
import { parseImageName, registryDomain, type Docker, type RegistryLogin } from '@windlass/engine/docker'
import { fault, isFault } from '@windlass/kit'

export interface ImageOptions {
  readonly docker: Docker
  readonly logins: readonly RegistryLogin[]
  readonly signal: AbortSignal
  readonly note: (line: string) => void
}

/** The image of the helper, which no public registry serves. */
const OURS = /(?:^|\/)windlass\/gitlab-helper(?=[:@]|$)/

/** Pulls an image unless the daemon has it. `policy` is that of the job. Throws `docker-refused` with what to do. */
export async function ensureImage(image: string, policy: string | undefined, options: ImageOptions): Promise<void> {
  const { docker, logins, signal, note } = options
  if (policy !== 'always' && (await docker.inspectImage(image)) !== undefined) return
  if (policy === 'never')
    throw fault('docker-refused', {
      message: `Docker does not have the image ${image}, and the pull policy of the job is "never".`,
      hint: 'Build or pull the image first.',
    })
  const domain = registryDomain(parseImageName(image).repository)
  note(`Pulling the image ${image}.`)
  try {
    await docker.pullImage(image, { login: logins.find((login) => login.domain === domain), signal })
  } catch (error) {
    if (!isFault(error, 'docker-refused')) throw error
    const hint = OURS.test(image)
      ? 'This image is a part of Windlass. Build it in a clone with `scripts/images gitlab-helper`, load it from a release with `docker load`, or name one with --helper-image.'
      : `Check the name of the image. If it is private, run \`docker login ${domain}\`, or pull it first with \`docker pull\`.`
    throw fault('docker-refused', { message: `The image ${image} cannot be pulled: ${error.message}`, hint }, error)
  }
}
