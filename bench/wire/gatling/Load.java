// One GET at a constant rate, over as many connections as the bench asks for.

import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.Simulation;

public class Load extends Simulation {
    {
        var get = scenario("load").exec(http("get").get(System.getProperty("url")));
        var rate = Double.parseDouble(System.getProperty("rate"));
        var seconds = Integer.getInteger("seconds");
        var shared = http.shareConnections().maxConnectionsPerHost(Integer.getInteger("connections"));
        setUp(get.injectOpen(constantUsersPerSec(rate).during(seconds)))
                .protocols(shared.disableWarmUp().disableCaching());
    }
}
