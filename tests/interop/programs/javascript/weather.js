// The tool of the programs on plain clients.
export function getWeather(city) {
  if (city === "Rome") throw new Error("the weather service is down");
  return `${city}: 7 C`;
}
