/** Returns true for the message of a Docker daemon that does not reach the registry, whatever the name of the image and its login. */
export function isUnreached(message: string): boolean {
  return /no such host|dial tcp|i\/o timeout|Client\.Timeout|TLS handshake timeout|server misbehaving/i.test(message)
}
