/** The networks or namespace that a step's containers join to reach their services. */
export interface ServiceNetwork {
  /** Networks that resolve the services by name. */
  readonly networks: readonly string[]
  /** A namespace that the services and the step share: `container:<id>`. */
  readonly namespace?: string | undefined
}
