/** A job asks for something that its runner does not allow, or that the configuration makes impossible. It fails with `runner_configuration_error`. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}
