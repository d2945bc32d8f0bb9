/** A package in a bill of materials. */
export interface Component {
  readonly name: string
  readonly version: string
  /** Package URL, by which databases of vulnerabilities know the package. */
  readonly purl: string
  readonly license?: string
}
