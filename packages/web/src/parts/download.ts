/** Lets the browser store what is at an address, under a name or that of the server. */
export function download(address: string, name = ''): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
